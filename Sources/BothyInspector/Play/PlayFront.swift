import BothyStore
package import BothySync
import HTTPTypes
package import Logging
import ServiceLifecycle

/// The playground's door and routes: answers requests, whoever carries them.
package struct PlayFront: PageFront {
  let gate: Gate
  let watch: PlayWatch
  private let routes: PlayRoutes

  /// - Parameter server: what the server holds now.
  package init(
    _ devices: [PlayDevice], logger: Logger, server: @escaping @Sendable () async throws -> [ServerRecord]
  ) {
    gate = Gate(logger: logger)
    routes = PlayRoutes(devices: devices, server: server)
    watch = PlayWatch(devices)
  }

  /// Says where it listens, which is the one host it answers for.
  package func opens(at port: Int) { gate.doorkeeper.opens(at: port) }

  /// The address that opens the page; without the token once that was used.
  package var address: String { gate.doorkeeper.address }

  package func events() -> AsyncStream<InspectorEvent> {
    watch.board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  package func answer(_ call: InspectorCall) async -> Answer {
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
