package import BothyCache
package import BothySync

/// The states of network monitors as conditions for the cache.
extension NetworkConditions {
  /// Converts a state. An unknown network counts as online, so that requests are tried.
  package init(_ state: SyncStatus.NetworkState) {
    self.init(
      isOnline: state.status != .notReachable, isMetered: state.isExpensive,
      isConstrained: state.isConstrained, isLowPower: state.isLowPower)
  }

  /// Returns the conditions that a monitor reports, now and after each change.
  ///
  /// The monitor runs until the stream is released.
  package static func stream(of monitor: any ReachabilityMonitor) -> AsyncStream<NetworkConditions> {
    let states = monitor.states()
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        for await state in states { continuation.yield(NetworkConditions(state)) }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
