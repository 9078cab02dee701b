public import BothyCache
public import BothySync

/// What monitors of the network say, in the words of the cache.
extension NetworkConditions {
  /// A network of which nothing is known is taken to be there: it is tried.
  public init(_ state: NetworkState) {
    self.init(
      isOnline: state.status != .notReachable, isMetered: state.isExpensive,
      isConstrained: state.isConstrained, isLowPower: state.isLowPower)
  }

  /// The conditions as a monitor sees them, now and after each change. The monitor runs until the stream is let go.
  public static func stream(of monitor: any ReachabilityMonitor) -> AsyncStream<NetworkConditions> {
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
