import BothyStore
import Synchronization

/// A monitor that passes on the states that the app sends. Any number of listeners may read it.
package final class NetworkFeed: ReachabilityMonitor {
  private let current: Mutex<NetworkState>
  private let changes = Broadcast<NetworkState>()

  /// - Parameter state: the first state that listeners receive, until `send` changes it.
  package init(_ state: NetworkState = .unknown) {
    current = Mutex(state)
  }

  /// The state that was sent last, or the initial one.
  package var state: NetworkState { current.withLock { $0 } }

  /// Sends the present state to all listeners. May be called from any thread.
  package func send(_ state: NetworkState) {
    current.withLock { $0 = state }
    changes.send(state)
  }

  package func states() -> AsyncStream<NetworkState> { changes.values(startingWith: state) }
}
