import BothyStore
import BothySync

/// The caller's token, renewed before it expires or when the server refuses it.
///
/// It is renewed once for all waiting requests, and once in a sync.
package actor TokenSource {
  private let provider: @Sendable () async throws -> AccessToken?
  private let now: @Sendable () -> Int64
  private var current: AccessToken?
  private var isKnown = false
  /// The time from which a new token is requested, in milliseconds since 1970.
  private var renewal = Int64.max
  private var refresh: Task<AccessToken?, any Error>?

  /// The time before its expiry at which a token is renewed. A short-lived token is renewed in the middle of its life.
  private static let margin: Int64 = 60_000

  package init(
    now: @escaping @Sendable () -> Int64, _ provider: @escaping @Sendable () async throws -> AccessToken?
  ) {
    self.provider = provider
    self.now = now
  }

  /// Returns the token. Calls the provider the first time and shortly before the token expires.
  ///
  /// If that fails, a token that has not expired is used.
  package func token() async throws -> AccessToken? {
    guard isKnown else { return try await renew() }
    guard now() >= renewal else { return current }
    do { return try await renew() } catch {
      guard let end = current?.expiresAt, now() < end else { throw error }
      return current
    }
  }

  /// Returns the token after `refused` received a 401, or `nil` if no other token is available.
  ///
  /// Calls the provider only if the token was not renewed since, and if the request's sync has not renewed it yet.
  package func token(insteadOf refused: AccessToken?) async throws -> AccessToken? {
    if let refresh { return try await refresh.value }
    if isKnown, current != refused { return current }
    guard SyncBudget.current?.takeTokenRefresh() ?? true else { return nil }
    return try await renew()
  }

  private func renew() async throws -> AccessToken? {
    if let refresh { return try await refresh.value }
    let task = Task { try await provider() }
    refresh = task
    defer { refresh = nil }
    let token = try await task.value
    current = token
    isKnown = true
    renewal = .max
    let start = now()
    // A new token that has expired is one of a wrong clock, by which each request would ask for another one.
    if let end = token?.expiresAt, end > start {
      renewal = end.subtractingClamped(min(Self.margin, end.subtractingClamped(start) / 2))
    }
    return token
  }
}
