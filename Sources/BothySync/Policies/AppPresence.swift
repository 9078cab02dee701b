import BothyStore
import Synchronization

/// The app's presence in the foreground, and the tasks that wait for it.
final class AppPresence: Sendable {
  private let state = Mutex(true)
  private let returns = Broadcast<Void>()

  var isForeground: Bool { state.withLock { $0 } }

  /// Stores the app's new presence. Returns true if the app was in the background and came back.
  func set(isForeground: Bool) -> Bool {
    let isBack = state.withLock { state in
      defer { state = isForeground }
      return isForeground && !state
    }
    if isBack { returns.send(()) }
    return isBack
  }

  /// Returns once the app is in the foreground, or the task is cancelled.
  func foreground() async {
    // Listens before it looks, so that no return falls between.
    let returns = returns.values()
    if isForeground { return }
    for await _ in returns { return }
  }
}
