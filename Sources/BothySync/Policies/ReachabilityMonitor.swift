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
