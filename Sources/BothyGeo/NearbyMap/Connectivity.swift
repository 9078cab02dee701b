/// The connectivity of an app, as `NearbyMap.connectivities` reports it.
///
/// An app is offline at once, and online only after three seconds without a failure, so that a banner doesn't flicker.
public enum ConnectivityState: Sendable, Hashable {
  /// The network and the tile of the position are available. A map begins in this state.
  case online
  /// Both are available again, but not yet for long enough: three seconds. A failure meanwhile leads back to
  /// `offline`.
  case enteringOnline
  /// The network or the tile of the position isn't available. Stored places can still be queried.
  case offline
}

/// Decides when an app is offline: immediately when it loses the connection, and until it was back for some time.
struct ConnectivityHold: Sendable {
  /// The duration of the state `enteringOnline`.
  static let length: Duration = .seconds(3)

  private(set) var state = ConnectivityState.online
  /// A number that distinguishes one period of `enteringOnline` from others.
  private(set) var turn = 0

  /// Returns true if the state changes. The caller ends the state `enteringOnline` after `length`.
  mutating func note(isOffline: Bool) -> Bool {
    let next: ConnectivityState =
      isOffline ? .offline : state == .offline ? .enteringOnline : state
    guard next != state else { return false }
    state = next
    turn += 1
    return true
  }

  /// Ends `enteringOnline` and returns true, unless another period has begun or the app is offline again.
  mutating func end(_ turn: Int) -> Bool {
    guard state == .enteringOnline, turn == self.turn else { return false }
    state = .online
    return true
  }
}
