#if canImport(Network)
  public import BothySync
  import Foundation
  import Network

  /// The network of Apple's platforms: its path, its cost, and the device's power saving.
  public struct PathMonitor: ReachabilityMonitor {
    public init() {}

    /// Returns the states. The monitor runs until the stream is released.
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
