import ArgumentParser
import BothyHTTP
import BothySync
import Foundation
import Logging

/// The program that `scripts/soak` and `scripts/kill-test` start and kill. It is in no release.
@main
struct SoakDriver: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes to a database and syncs it, for tests that kill it.",
    subcommands: [SaveLoopCommand.self, SoakDeviceCommand.self])

  static func main() async {
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = .warning
      return handler
    }
    await main(nil)
  }
}

/// The database of a command, which knows its server.
struct SoakDatabase: ParsableArguments {
  @Argument(help: "The database file.") var path: String

  /// Opens the database. Throws if it has no server.
  func open(
    timeout: Duration = .seconds(60), silenceLimit: Duration = .seconds(50),
    _ configuration: SyncOptions = SyncOptions()
  ) throws -> SyncedStore {
    guard let address = try RemoteAddress.stored(at: path) else {
      throw SoakFailure("\(path) has no server. Store one: bothy db create DB --server URL --space NAME.")
    }
    let remote = BothyRemote(
      url: address.url, space: address.space, timeout: timeout, silenceLimit: silenceLimit,
      allowsHTTP: address.allowsHTTP, token: { address.token })
    return try SyncedStore(existing: path, remote: remote, configuration: configuration)
  }
}

/// The error of a command, as a sentence.
struct SoakFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Prints one line at once. Throws if standard output is closed.
func printLine(_ line: String) throws {
  try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}
