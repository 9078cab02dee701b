/// The keys of an identity provider, the time of their next request, and the callers that wait for it.
struct ProviderKeys: Sendable {
  /// The last response, or `nil` after a day without one.
  private(set) var keySet: JWTKeyAddress.KeySet?
  private(set) var keys: JWTKeys
  /// The issuer, which stays known while the provider doesn't answer.
  private(set) var issuer: String?
  private var schedule: KeySetSchedule
  /// The callers that wait for the request under way, or `nil` without one.
  private var waiting: [CheckedContinuation<Void, Never>]?

  init(_ keySet: JWTKeyAddress.KeySet, _ keys: JWTKeys, at now: Int64) {
    (self.keySet, self.keys, issuer) = (keySet, keys, keySet.issuer)
    schedule = KeySetSchedule(answeredAt: now, freshFor: keySet.freshFor)
  }

  /// Returns true if the caller is to request the key set now, and to call `end()` afterwards.
  mutating func begin(at now: Int64, isMissed: Bool) -> Bool {
    guard waiting == nil, schedule.isDue(at: now, isMissed: isMissed) else { return false }
    schedule.begin(at: now)
    waiting = []
    return true
  }

  /// Returns false if no request is under way. Otherwise `end()` returns the caller.
  mutating func wait(_ caller: CheckedContinuation<Void, Never>) -> Bool {
    waiting?.append(caller)
    return waiting != nil
  }

  /// Ends the request, and returns the callers that waited for it.
  mutating func end() -> [CheckedContinuation<Void, Never>] {
    defer { waiting = nil }
    return waiting ?? []
  }

  /// Takes a response to the request of `now`. Returns true if it has other keys or another issuer.
  mutating func take(_ keySet: JWTKeyAddress.KeySet, _ keys: JWTKeys, at now: Int64) -> Bool {
    schedule = KeySetSchedule(answeredAt: now, freshFor: keySet.freshFor)
    guard self.keySet?.text != keySet.text || self.keySet?.issuer != keySet.issuer else { return false }
    (self.keySet, self.keys, issuer) = (keySet, keys, keySet.issuer)
    return true
  }

  /// Drops the keys if the provider hasn't answered for a day. Returns true if it did.
  mutating func drop(at now: Int64) -> Bool {
    guard keySet != nil, schedule.isOver(at: now) else { return false }
    (keySet, keys) = (nil, JWTKeys())
    return true
  }
}
