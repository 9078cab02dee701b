import BothyStore
package import BothySync
import HTTPTypes
package import Logging
import ServiceLifecycle

/// A page's door and what is behind it: answers requests, whoever carries them. Knows no sockets.
package struct Front: Service {
  private let gate: Gate
  private let watch: any Service
  private let board: Broadcast<InspectorEvent>
  private let route: @Sendable (InspectorCall) async throws -> Answer

  /// The inspector's.
  package init(_ subjects: InspectorSubjects, logger: Logger) {
    let watch = Watch(subjects)
    let routes = InspectorRoutes(subjects, watch)
    gate = Gate(opening: "bothy inspect", logger: logger)
    board = watch.board
    self.watch = watch
    route = { try await routes.answer($0) }
  }

  /// The playground's.
  ///
  /// - Parameter server: what the server holds now.
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
      // A switch touches no file.
      if call.method == .post { watch.board.send(InspectorEvent(.store)) }
      return answer
    }
  }

  /// Looks out for changes until the task is cancelled or the service group shuts down; the streams of events end then.
  package func run() async throws { try await watch.run() }

  /// Says where it listens, which is the one host it answers for.
  package func opens(at port: Int) { gate.doorkeeper.opens(at: port) }

  /// The address that opens the page; without the token once that was used.
  package var address: String { gate.doorkeeper.address }

  /// The events from now on. A listener that lags behind skips what came in between: pages read anew in any case.
  package func events() -> AsyncStream<InspectorEvent> {
    board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  package func answer(_ call: InspectorCall) async -> Answer { await gate.answer(call, by: route) }
}
