import Logging
import ServiceLifecycle

/// One service in the foreground: it runs until it ends, or until a signal asks it to end in peace.
struct RunningService {
  let host: String
  let port: Int
  /// The option that chooses the port, for the error when it is taken.
  let portOption: String
  let logger: Logger

  /// - Parameter whenReady: runs beside the service; prints its address once it has one.
  func run(_ service: some Service, whenReady: @escaping @Sendable () async throws -> Void) async throws {
    let signals = Interrupts.signals()
    var group = ServiceGroupConfiguration(services: [service], logger: logger)
    group.maximumGracefulShutdownDuration = .seconds(20)
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

  private func failure(_ error: any Error) -> any Error {
    let text = "\(error)"
    guard text.contains("bind") || text.contains("EADDR") || text.contains("Address") else { return error }
    return ToolError(
      "The address \(host):\(port) can't be used (\(text)). Choose another \(portOption), or 0 for any.")
  }
}
