package import Logging
import ServiceLifecycle

/// A page on this machine that shows what is on the device and why something waits, and takes decisions about it.
///
/// It listens on 127.0.0.1 alone, and lets in one browser by an address that works once. `run()` is its lifetime.
package final class Inspector: Service {
  private let page: LocalPage

  /// - Parameter port: 0 lets the system choose one.
  package init(_ subjects: InspectorSubjects, port: Int = 0, logger: Logger) {
    page = LocalPage(Front(subjects, logger: logger), port: port, logger: logger)
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once. Throws when the port is taken.
  package func run() async throws { try await page.run() }

  /// The address that opens the page, once, when it listens; nil if it never does. Ask once.
  package func address() async -> String? { await page.address() }
}
