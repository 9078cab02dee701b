import BothyStore
import Synchronization

/// The presence of a network, as far as it is known.
public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
  /// Unknown. Requests are tried, and a failure is reported.
  case unknown = -1
  /// The device has no network.
  case notReachable = 0
  /// The device has a network. The server may still not answer.
  case reachable = 1
}

/// The network as the device sees it: its presence and the cost of using it.
public struct NetworkState: Sendable, Hashable {
  /// The presence of a network.
  public var status: NetworkStatus
  /// True if each byte may cost money, as on a mobile network or a personal hotspot.
  package var isExpensive: Bool
  /// True if the user asked apps to use little data.
  package var isConstrained: Bool
  /// True if the device saves power.
  package var isLowPower: Bool

  /// A network that costs nothing and need not be spared, unless the parameters say otherwise.
  public init(
    _ status: NetworkStatus, expensive: Bool = false, constrained: Bool = false, lowPower: Bool = false
  ) {
    self.status = status
    isExpensive = expensive
    isConstrained = constrained
    isLowPower = lowPower
  }

  /// An unknown network of unknown cost.
  package static let unknown = NetworkState(.unknown)
  /// No network.
  package static let notReachable = NetworkState(.notReachable)
  /// A network that costs nothing.
  package static let reachable = NetworkState(.reachable)
}

/// A source of network states: `PathMonitor` on Apple's platforms, `NetworkFeed` where the app reports them.
public protocol ReachabilityMonitor: Sendable {
  /// Returns the present state, then each different one. The stream ends when the monitor stops.
  func states() -> AsyncStream<NetworkState>
}

/// A monitor that passes on the states that the app sends. Any number of listeners may read it.
public final class NetworkFeed: ReachabilityMonitor {
  private let current: Mutex<NetworkState>
  private let changes = Broadcast<NetworkState>()

  /// - Parameter state: the first state that listeners receive, until `send` changes it.
  public init(_ state: NetworkState = NetworkState(.unknown)) { current = Mutex(state) }

  /// The state that was sent last, or the initial one.
  package var state: NetworkState { current.withLock { $0 } }

  /// Sends the present state to all listeners. May be called from any thread.
  public func send(_ state: NetworkState) {
    current.withLock { $0 = state }
    changes.send(state)
  }

  public func states() -> AsyncStream<NetworkState> { changes.values(startingWith: state) }
}
