/// The time for which a device waits before its next attempt, in seconds.
enum Waits: CaseIterable {
  /// The wait of the client's `Backoff`: a second, doubled up to a minute, and a random part of that from a tenth on.
  case client
  /// Like `client`, but with less than a tenth raised to a tenth. One device of ten then arrives at one moment.
  case cutOff
  /// Like `client`, but without chance.
  case sameForAll
  /// Three seconds, which browsers read from the server's `retry: 3000`.
  case threeSeconds

  var name: String {
    switch self {
    case .client: "the client's"
    case .cutOff: "cut off"
    case .sameForAll: "without jitter"
    case .threeSeconds: "always 3 s"
    }
  }

  func seconds(attempt: Int, _ chance: inout Chance) -> Double {
    let bound = min(60, Double(1 << min(max(attempt - 1, 0), 9)))
    switch self {
    case .client: return bound * (0.1 + 0.9 * chance.unit())
    case .cutOff: return bound * max(0.1, chance.unit())
    case .sameForAll: return bound
    case .threeSeconds: return 3
    }
  }
}
