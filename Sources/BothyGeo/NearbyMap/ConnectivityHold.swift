/// Decides when an app is offline: immediately when it loses the connection, and until it was back for some time.
struct ConnectivityHold: Sendable {
  /// The duration of the state `enteringOnline`.
  static let length: Duration = .seconds(3)

  private(set) var state = NearbyMap.Connectivity.online
  /// A number that distinguishes one period of `enteringOnline` from others.
  private(set) var turn = 0

  /// Returns true if the state changes. The caller ends the state `enteringOnline` after `length`.
  mutating func note(isOffline: Bool) -> Bool {
    let next: NearbyMap.Connectivity =
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
