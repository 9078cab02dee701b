import BothyStore
import ServiceLifecycle

/// The life of a page's events: with a sign of life in between, until the page goes.
extension Broadcast<InspectorEvent> {
  /// Runs the tasks that `add` adds until the task is cancelled or the service group shuts down; the streams of events
  /// end then.
  func run(_ add: (inout TaskGroup<Void>) -> Void) async {
    await withTaskGroup(of: Void.self) { tasks in
      add(&tasks)
      tasks.addTask { await self.beat() }
      try? await gracefulShutdown()  // cancellation ends the rest as well
      finish()
      tasks.cancelAll()
    }
  }

  /// Pages take a silence of ten seconds for the end; and whoever left is noticed when something is written to them.
  private func beat() async {
    // Ends when it is cancelled.
    while (try? await Task.sleep(for: .seconds(3))) != nil { send(InspectorEvent(.alive)) }
  }
}
