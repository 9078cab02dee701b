import BothyStore
package import BothySync
import HTTPTypes
package import Logging
import ServiceLifecycle

/// An app behind its access control. It responds to requests from any transport, and uses no sockets itself.
package struct InspectorApp: Service {
  private let gate: Gate
  private let watch: any Service
  private let board: Broadcast<InspectorEvent>
  private let route: @Sendable (InspectorCall) async throws -> Answer

  /// Creates the inspector's app.
  package init(_ subjects: InspectorSubjects, logger: Logger) {
    let watch = Watch(subjects)
    let routes = InspectorRoutes(subjects, watch)
    gate = Gate(opening: "bothy inspect", logger: logger)
    board = watch.board
    self.watch = watch
    route = { try await routes.answer($0) }
  }

  /// Creates the playground's app.
  ///
  /// - Parameter server: returns the current records of the server.
  package init(
    playing devices: [PlayDevice], logger: Logger,
    server: @escaping @Sendable () async throws -> [ServerRecord]
  ) {
    let watch = PlayWatch(devices)
    let routes = PlayRoutes(devices: devices, server: server)
    gate = Gate(opening: "bothy demo --open", logger: logger)
    board = watch.board
    self.watch = watch
    route = { call in
      let answer = try await routes.answer(call)
      // A network switch changes no file, so no commit notifies the page.
      if call.method == .post { watch.board.send(InspectorEvent(.store)) }
      return answer
    }
  }

  /// Creates the app of an operator's page.
  package init(operating subjects: OperatorSubjects, logger: Logger) {
    let watch = OperatorWatch(subjects)
    let routes = OperatorRoutes(subjects: subjects)
    gate = Gate(opening: "bothy admin page", logger: logger)
    board = watch.board
    self.watch = watch
    route = { try await routes.answer($0) }
  }

  /// Watches for changes until the task is cancelled or the service group shuts down. Then the event streams end.
  package func run() async throws { try await watch.run() }

  /// Sets the port, which defines the only host that requests may name.
  package func opens(at port: Int) { gate.doorkeeper.opens(at: port) }

  /// The address that opens the page, with the token until its use.
  package var address: String { gate.doorkeeper.address }

  /// Returns the events from now on. A slow listener misses events in between, which is harmless because pages read
  /// everything again.
  package func events() -> AsyncStream<InspectorEvent> {
    board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  package func answer(_ call: InspectorCall) async -> Answer { await gate.answer(call, by: route) }
}
