import BothyStore
package import Logging

/// The inspector's door and what is behind it: answers requests, whoever carries them. Knows no sockets.
package struct Front: PageFront {
  let gate: Gate
  package let watch: Watch
  private let routes: InspectorRoutes

  package init(_ subjects: InspectorSubjects, logger: Logger) {
    gate = Gate(logger: logger)
    watch = Watch(subjects)
    routes = InspectorRoutes(subjects, watch)
  }

  /// Says where it listens, which is the one host it answers for.
  package func opens(at port: Int) { gate.doorkeeper.opens(at: port) }

  /// The address that opens the page; without the token once that was used.
  package var address: String { gate.doorkeeper.address }

  package func events() -> AsyncStream<InspectorEvent> {
    watch.board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  package func answer(_ call: InspectorCall) async -> Answer {
    await gate.answer(call) { try await routes.answer($0) }
  }
}
