import BothySync

/// Keeps the caller's token and asks for a new one when the server no longer takes it, once for all requests
/// that wait for it.
actor TokenSource {
  private let provider: @Sendable () async throws -> String?
  private var current: String?
  private var isKnown = false
  private var refresh: Task<String?, any Error>?

  init(_ provider: @escaping @Sendable () async throws -> String?) { self.provider = provider }

  /// The token; asks the provider the first time.
  func token() async throws -> String? {
    if isKnown { return current }
    return try await renew()
  }

  /// The token after `refused` was answered 401; nil-safe, and asks the provider only if nobody did since.
  func token(insteadOf refused: String?) async throws -> String? {
    if isKnown, current != refused { return current }
    return try await renew()
  }

  private func renew() async throws -> String? {
    if let refresh { return try await refresh.value }
    let task = Task { try await provider() }
    refresh = task
    defer { refresh = nil }
    let token = try await task.value
    current = token
    isKnown = true
    return token
  }
}
