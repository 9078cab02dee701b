package import Logging
import ServiceLifecycle

/// A page on this machine for operators of servers: spaces, devices, refusals, limits, webhooks, upkeep and storage.
///
/// It knows no server code. `OperatorSubjects` makes the documents that the page shows. Like the inspector it listens on
/// 127.0.0.1 only, and admits one browser by an address that works once. It has no changes to make.
package final class OperatorPage: Service {
  private let page: LoopbackServer

  /// - Parameter port: the port, or 0 to let the system choose one.
  package init(_ subjects: OperatorSubjects, port: Int = 0, logger: Logger) {
    page = LoopbackServer(InspectorApp(operating: subjects, logger: logger), port: port, logger: logger)
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once. Throws if the port is in use.
  package func run() async throws { try await page.run() }

  /// Waits until the page listens, and returns the address that opens it once, or `nil` if it never listens. Call it
  /// once.
  package func address() async -> String? { await page.address() }
}

/// The source of an operator's page: documents by name, and looks at running servers.
package struct OperatorSubjects: Sendable {
  /// Returns the JSON of a document with the parameters of a request, or `nil` for an unknown name. It may throw
  /// `BothyError`, whose message the page shows.
  package var document: @Sendable (String, [String: String]) async throws -> [UInt8]?
  /// Looks at the servers again. It must return soon, also if none of them answers.
  package var look: @Sendable () async -> Void
  /// The time between two looks, after each of which the page reads everything again.
  package var interval: Duration

  package init(
    interval: Duration = .seconds(5), look: @escaping @Sendable () async -> Void = {},
    document: @escaping @Sendable (String, [String: String]) async throws -> [UInt8]?
  ) {
    self.interval = interval
    self.look = look
    self.document = document
  }
}
