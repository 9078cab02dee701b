#if canImport(Network)
  public import BothySync
  import Foundation
  import Network
  import Synchronization

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
    /// Each call begins an observation of its own, which runs until its stream is released. A change of the power
    /// state alone is reported too.
    public func states() -> AsyncStream<NetworkState> {
      AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let last = Mutex<NetworkState?>(nil)
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { path in
          last.withLock { last in
            let state = NetworkState(
              isReachable: path.status == .satisfied, isExpensive: path.isExpensive,
              isConstrained: path.isConstrained, isLowPower: ProcessInfo.processInfo.isLowPowerModeEnabled)
            last = state
            continuation.yield(state)
          }
        }
        let power = PowerObserver {
          last.withLock { last in
            // The first path has the power state of its time.
            guard var state = last else { return }
            state.isLowPower = ProcessInfo.processInfo.isLowPowerModeEnabled
            last = state
            continuation.yield(state)
          }
        }
        continuation.onTermination = { _ in
          monitor.cancel()
          power.stop()
        }
        monitor.start(queue: DispatchQueue(label: "bothy.network"))
      }
    }
  }

  /// Calls its closure after each change of the power state.
  ///
  /// Unchecked because the observer is never used again, except to remove it.
  private final class PowerObserver: @unchecked Sendable {
    private let observer: any NSObjectProtocol

    init(_ changed: @escaping @Sendable () -> Void) {
      observer = NotificationCenter.default.addObserver(
        forName: .NSProcessInfoPowerStateDidChange, object: nil, queue: nil
      ) { _ in changed() }
    }

    func stop() { NotificationCenter.default.removeObserver(observer) }
  }
#endif
