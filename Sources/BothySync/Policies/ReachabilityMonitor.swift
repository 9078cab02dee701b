import BothyStore
import Synchronization

/// A source of network states: `PathMonitor` on Apple's platforms, a type of the app elsewhere.
///
/// ```swift
/// import BothySync
///
/// /// The network of a machine with a cable.
/// struct WiredNetwork: ReachabilityMonitor {
///   func states() -> AsyncStream<NetworkState> { AsyncStream { $0.yield(NetworkState(isReachable: true)) } }
/// }
///
/// await store.run(reachability: WiredNetwork())
/// ```
public protocol ReachabilityMonitor: Sendable {
  /// Returns the present state, then each different one. The stream ends when the monitor stops.
  ///
  /// Each `run(reachability:)` calls it once, and cancels the stream when it ends. Without a first state the
  /// network counts as unknown, so requests are tried.
  func states() -> AsyncStream<NetworkState>
}

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
    changes.send(self.state)
  }

  package func states() -> AsyncStream<NetworkState> { changes.values(startingWith: state) }
}
