import Bars
import BothyHTTP
import BothyServer
import BothySync
import BothySyncService
import Foundation
import Logging

/// A second process of this program that runs as a server.
final class ServerProcess {
  let remote: BothyRemote
  private let process = Process()

  /// Starts the server on a free port, and returns when it listens.
  init(_ path: String) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = ["--serve", path]
    process.standardOutput = output
    try process.run()
    var line = Data()
    while !line.contains(UInt8(ascii: "\n")) {
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw BenchmarkError("The server did not start.") }
      line += more
    }
    let url = String(decoding: line, as: UTF8.self).split(separator: "\n")[0]
    #if canImport(Darwin)
      let transport = URLSessionTransport()
    #else
      let transport = AsyncHTTPClientTransport(compression: false)
    #endif
    remote = BothyRemote(url: String(url), space: "bench", transport: transport)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  /// Serves the storage at `path`, prints its address, and runs until it is terminated. The other process calls it.
  static func serve(_ path: String) async throws {
    var logger = Logger(label: "bench.server")
    logger.logLevel = .error
    let server = BothyServer(
      ServerConfiguration(port: 0, storage: try SQLiteServerStorage(at: path), logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask {
        let address = try await server.ready()
        FileHandle.standardOutput.write(Data("\(address.url)\n".utf8))
      }
      try await group.waitForAll()
    }
  }
}
