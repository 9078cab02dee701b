import BothyInspector
import BothyStore
import Foundation
import Logging
import ServiceLifecycle

/// One service in the foreground. It runs until it ends, or until a signal requests a graceful shutdown.
struct RunningService {
  let host: String
  let port: Int
  /// The option for the port, for the error if the port is in use.
  let portOption: String
  let logger: Logger
  /// The time of a graceful shutdown, after which the service is cancelled.
  var shutdownTime: Duration = .seconds(20)

  /// Runs the service.
  ///
  /// - Parameter whenReady: runs beside the service, and prints its address once it has one.
  func run(_ service: some Service, whenReady: @escaping @Sendable () async throws -> Void) async throws {
    let signals = Interrupts.signals()
    var group = ServiceGroupConfiguration(services: [service], logger: logger)
    group.maximumGracefulShutdownDuration = shutdownTime
    let services = ServiceGroup(configuration: group)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        for await _ in signals { await services.triggerGracefulShutdown() }
      }
      tasks.addTask { try await whenReady() }
      do { try await services.run() } catch { throw failure(error) }
      tasks.cancelAll()
    }
  }

  /// Runs a page. Prints its address after `words`, and opens it in the browser if `opens` is true.
  func show(_ page: LoopbackServer, _ words: String, opens: Bool, _ output: OutputOptions) async throws {
    try await run(page) {
      // If it fails to listen, its own task reports why.
      guard let address = await page.address() else { return }
      try output.print {
        "\(words) \(address)"
      } json: {
        $0.member("url", address)
      }
      if opens { Browser.open(address) }
    }
  }

  /// Returns the error, or one with a remedy if the service can't listen at its address.
  private func failure(_ error: any Error) -> any Error {
    let text = "\(error)"
    func has(_ number: Int32) -> Bool { text.hasSuffix("(errno: \(number))") }
    let address = "The address \(host):\(port)"
    if has(EADDRINUSE) {
      return ToolError("\(address) is in use. Choose another \(portOption), or 0 for any.")
    }
    if has(EACCES) {
      return ToolError("\(address) needs an administrator's rights. Choose a \(portOption) from 1024 on.")
    }
    if has(EADDRNOTAVAIL) || text.hasPrefix("SocketAddressError") {
      return ToolError("\(host) is not an address of this machine. Give another, such as --host 127.0.0.1.")
    }
    guard text.contains("bind(") else { return error }
    return ToolError("\(address) can't be used. Choose another \(portOption), or 0 for any.")
  }
}
