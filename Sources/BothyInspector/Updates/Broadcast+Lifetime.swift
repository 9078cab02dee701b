import BothyStore
import ServiceLifecycle

/// The lifetime of a page's events, with heartbeats in between.
extension Broadcast<InspectorEvent> {
  /// Runs the tasks that `add` adds until the task is cancelled or the service group shuts down. Then the event streams
  /// end.
  func run(_ add: (inout TaskGroup<Void>) -> Void) async {
    await withTaskGroup(of: Void.self) { tasks in
      add(&tasks)
      tasks.addTask { await self.beat() }
      try? await gracefulShutdown()  // cancellation ends the others too
      finish()
      tasks.cancelAll()
    }
  }

  /// Sends heartbeats. Pages treat a silence of ten seconds as the end, and a write detects that a listener has left.
  private func beat() async {
    // The loop ends on cancellation.
    while (try? await Task.sleep(for: .seconds(3))) != nil { send(InspectorEvent(.alive)) }
  }
}
