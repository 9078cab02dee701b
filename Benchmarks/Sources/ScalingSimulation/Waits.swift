/// How long a device waits before it tries again, in seconds.
enum Waits: CaseIterable {
  /// As `Backoff` of the client does it: a second, doubled up to a minute, and a random part of it from a tenth on.
  case client
  /// The same, but with less than a tenth made a tenth, as it once was: one device of ten comes at the same moment.
  case cutOff
  /// The same bounds without chance.
  case sameForAll
  /// Three seconds, as browsers take it from the server's `retry: 3000`.
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
