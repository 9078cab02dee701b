/// Whether an app counts as offline.
public enum ConnectivityState: Sendable, Hashable {
  /// With a network, and with the tile of the position.
  case online
  /// Back, but not yet for long enough to rely on.
  case enteringOnline
  /// Without a network, or without the tile of the position.
  case offline
}

/// Decides when an app counts as offline: at once when it is, and no more when it has not been for a while.
struct ConnectivityHold: Sendable {
  /// How long it is entering online.
  static let length: Duration = .seconds(3)

  private(set) var state = ConnectivityState.online
  /// Tells one entering from another.
  private(set) var turn = 0

  /// True when the state is another one now. One that is `enteringOnline` is to be ended after `length`.
  mutating func note(isOffline: Bool) -> Bool {
    let next: ConnectivityState =
      isOffline ? .offline : state == .offline ? .enteringOnline : state
    guard next != state else { return false }
    state = next
    turn += 1
    return true
  }

  /// Ends an entering, unless another one has begun or the app is offline again. True when it did.
  mutating func end(_ turn: Int) -> Bool {
    guard state == .enteringOnline, turn == self.turn else { return false }
    state = .online
    return true
  }
}
