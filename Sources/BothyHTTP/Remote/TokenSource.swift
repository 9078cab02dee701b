import BothyStore
import BothySync

/// Keeps the caller's token and asks for a new one before it ends or when the server no longer takes it: once for
/// all requests that wait for it, and once in a sync pass.
actor TokenSource {
  private let provider: @Sendable () async throws -> AccessToken?
  private let now: @Sendable () -> Int64
  private var current: AccessToken?
  private var isKnown = false
  /// From when on a new token is asked for, in milliseconds since 1970.
  private var renewal = Int64.max
  private var refresh: Task<AccessToken?, any Error>?

  /// A token is renewed so long before its end, or in the middle of its life if that is shorter.
  private static let margin: Int64 = 60_000

  init(
    now: @escaping @Sendable () -> Int64, _ provider: @escaping @Sendable () async throws -> AccessToken?
  ) {
    self.provider = provider
    self.now = now
  }

  /// The token; asks the provider the first time and shortly before the token ends. If that fails, a token that
  /// has not ended yet is used.
  func token() async throws -> AccessToken? {
    guard isKnown else { return try await renew() }
    guard now() >= renewal else { return current }
    do { return try await renew() } catch {
      guard let end = current?.expiresAt, now() < end else { throw error }
      return current
    }
  }

  /// The token after `refused` was answered 401: asks the provider only if nobody did since and the sync pass
  /// that the request belongs to has not asked yet. Nil when there is no other token.
  func token(insteadOf refused: AccessToken?) async throws -> AccessToken? {
    if let refresh { return try await refresh.value }
    if isKnown, current != refused { return current }
    guard PassAllowance.current?.takeTokenRefresh() ?? true else { return nil }
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
    if let end = token?.expiresAt {
      let start = now()
      renewal = end.subtractingClamped(min(Self.margin, max(0, end.subtractingClamped(start)) / 2))
    }
    return token
  }
}
