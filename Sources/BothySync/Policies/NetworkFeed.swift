import BothyStore
import Synchronization

/// A monitor that passes on the states that the app sends. Any number of listeners may read it.
package final class NetworkFeed: ReachabilityMonitor {
  private let current: Mutex<SyncStatus.NetworkState>
  private let changes = Broadcast<SyncStatus.NetworkState>()

  /// - Parameter state: the first state that listeners receive, until `send` changes it.
  package init(_ state: SyncStatus.NetworkState = SyncStatus.NetworkState(.unknown)) {
    current = Mutex(state)
  }

  /// The state that was sent last, or the initial one.
  package var state: SyncStatus.NetworkState { current.withLock { $0 } }

  /// Sends the present state to all listeners. May be called from any thread.
  package func send(_ state: SyncStatus.NetworkState) {
    current.withLock { $0 = state }
    changes.send(state)
  }

  package func states() -> AsyncStream<SyncStatus.NetworkState> { changes.values(startingWith: state) }
}
