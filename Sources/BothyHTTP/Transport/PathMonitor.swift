#if canImport(Network)
  public import BothySync
  import Foundation
  import Network

  /// The network as Apple's platforms see it: whether there is a path, what it costs, and whether the device saves
  /// power.
  public struct PathMonitor: ReachabilityMonitor {
    public init() {}

    /// Monitors until the stream is let go.
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
