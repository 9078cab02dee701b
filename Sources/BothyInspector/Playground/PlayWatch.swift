import BothyStore
import BothySync
import ServiceLifecycle

/// Reports commits and syncing on any device.
final class PlayWatch: Service {
  let board = Broadcast<InspectorEvent>()
  private let devices: [PlayDevice]

  init(_ devices: [PlayDevice]) { self.devices = devices }

  func run() async throws {
    await board.run { tasks in
      for device in devices {
        tasks.addTask {
          for await _ in device.store.store.commits { self.board.send(InspectorEvent(.store)) }
        }
        tasks.addTask { for await _ in device.store.statuses { self.board.send(InspectorEvent(.store)) } }
      }
    }
  }
}
