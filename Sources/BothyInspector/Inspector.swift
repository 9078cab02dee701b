package import Logging
import ServiceLifecycle

/// A page on this machine that shows the content of the device and the reasons of pending work, and accepts decisions
/// about it.
///
/// It listens on 127.0.0.1 only, and admits one browser by an address that works once. `run()` is its lifetime.
package final class Inspector: Service {
  private let page: LoopbackServer

  /// - Parameter port: the port, or 0 to let the system choose one.
  package init(_ subjects: InspectorSubjects, port: Int = 0, logger: Logger) {
    page = LoopbackServer(InspectorApp(subjects, logger: logger), port: port, logger: logger)
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once. Throws if the port is in use.
  package func run() async throws { try await page.run() }

  /// Waits until the page listens, and returns the address that opens it once, or `nil` if it never listens. Call it
  /// once.
  package func address() async -> String? { await page.address() }
}
