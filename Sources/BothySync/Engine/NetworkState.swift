import BothyStore
import Synchronization

/// Whether the network is there, as far as is known.
public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
  /// Nothing is known: it is tried, and a failure shows.
  case unknown = -1
  /// The device has no network.
  case notReachable = 0
  /// The device has a network; whether the server answers is another matter.
  case reachable = 1
}

/// The network as the device sees it: whether it is there and what using it costs.
public struct NetworkState: Sendable, Hashable {
  /// Whether there is a network.
  public var status: NetworkStatus
  /// Each byte may cost money: a mobile network, somebody's hotspot.
  public var isExpensive: Bool
  /// The user asked apps to use little of it.
  public var isConstrained: Bool
  /// The device saves power.
  public var isLowPower: Bool

  /// Costs nothing and need not be spared, unless told otherwise.
  public init(
    _ status: NetworkStatus, expensive: Bool = false, constrained: Bool = false, lowPower: Bool = false
  ) {
    self.status = status
    isExpensive = expensive
    isConstrained = constrained
    isLowPower = lowPower
  }

  /// Nothing is known, neither of the network nor of its cost.
  public static let unknown = NetworkState(.unknown)
  /// No network.
  public static let notReachable = NetworkState(.notReachable)
  /// A network that costs nothing.
  public static let reachable = NetworkState(.reachable)
}

/// The seam to whoever knows about the network: `PathMonitor` on Apple's platforms, `NetworkFeed` where the app
/// tells.
public protocol ReachabilityMonitor: Sendable {
  /// The present state, then each different one. Ends when the monitor stops.
  func states() -> AsyncStream<NetworkState>
}

/// A monitor that says what the app tells it. Any number may listen.
public final class NetworkFeed: ReachabilityMonitor {
  private let current: Mutex<NetworkState>
  private let changes = Broadcast<NetworkState>()

  /// - Parameter state: what listeners hear first, until `send` tells another.
  public init(_ state: NetworkState = .unknown) { current = Mutex(state) }

  /// What was told last, or what it began with.
  public var state: NetworkState { current.withLock { $0 } }

  /// Tells of the present state. May be called from any thread.
  public func send(_ state: NetworkState) {
    current.withLock { $0 = state }
    changes.send(state)
  }

  public func states() -> AsyncStream<NetworkState> { changes.values(startingWith: state) }
}
