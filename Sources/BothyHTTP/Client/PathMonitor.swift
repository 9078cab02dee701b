#if canImport(Network)
  public import BothySync
  import Foundation
  import Network

  /// The network of Apple's platforms: its path, its cost, and the device's power saving.
  ///
  /// ```swift
  /// await store.run(reachability: PathMonitor())
  /// ```
  public struct PathMonitor: ReachabilityMonitor {
    /// Creates a monitor, which observes nothing before `states()`. A monitor holds no resources by itself.
    public init() {}

    /// Returns the present state, then each later one. A slow reader gets the newest only.
    ///
    /// Each call begins an observation of its own, which runs until its stream is released. The power state is
    /// read with each change of the path, so a change of it alone isn't reported.
    public func states() -> AsyncStream<NetworkState> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in
          continuation.yield(
            NetworkState(
              path.status == .satisfied ? .reachable : .notReachable, expensive: path.isExpensive,
              constrained: path.isConstrained, lowPower: ProcessInfo.processInfo.isLowPowerModeEnabled))
        }
        continuation.onTermination = { _ in monitor.cancel() }
        monitor.start(queue: DispatchQueue(label: "bothy.network"))
      }
    }
  }
#endif
