import BothyStore
import BothySync
import HTTPTypes
import Logging
import ServiceLifecycle

/// The playground's door and routes.
struct PlayFront: PageFront {
  let gate: Gate
  let watch: PlayWatch
  private let routes: PlayRoutes

  init(_ routes: PlayRoutes, logger: Logger) {
    gate = Gate(logger: logger)
    self.routes = routes
    watch = PlayWatch(routes.devices)
  }

  func events() -> AsyncStream<InspectorEvent> {
    watch.board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  func answer(_ call: InspectorCall) async -> Answer {
    await gate.answer(call) { call in
      let answer = try await routes.answer(call)
      // A switch touches no file.
      if call.method == .post { watch.board.send(InspectorEvent(.store)) }
      return answer
    }
  }
}

/// Tells of commits and of what syncing does on any device.
final class PlayWatch: Service {
  let board = Broadcast<InspectorEvent>()
  private let devices: [PlayDevice]

  init(_ devices: [PlayDevice]) { self.devices = devices }

  func run() async throws {
    await withTaskGroup(of: Void.self) { tasks in
      for device in devices {
        tasks.addTask {
          for await _ in device.store.store.commits { self.board.send(InspectorEvent(.store)) }
        }
        tasks.addTask { for await _ in device.store.statuses { self.board.send(InspectorEvent(.store)) } }
      }
      tasks.addTask {
        // Ends when it is cancelled.
        while (try? await Task.sleep(for: .seconds(3))) != nil { self.board.send(InspectorEvent(.alive)) }
      }
      try? await gracefulShutdown()  // cancellation ends the rest as well
      board.finish()
      tasks.cancelAll()
    }
  }
}
