import BothySyncService
import Synchronization

/// The admission of a caller to a space, for as long as the call lasts. An event stream checks it before each line.
///
/// A check costs two comparisons. The token is evaluated again only after the files of access have changed. A back end
/// that decides about spaces is asked when its last answer is too old.
final class AuthenticatedSession: Sendable {
  private let access: Authentication
  private let token: String
  private let space: String
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>

  private struct State: Sendable {
    var grant: Grant
    var generation: Int
  }

  init(
    _ access: Authentication, token: Substring, space: String, _ grant: Grant, generation: Int,
    now: @escaping @Sendable () -> Int64
  ) {
    self.access = access
    self.token = String(token)
    self.space = space
    self.now = now
    state = Mutex(State(grant: grant, generation: generation))
  }

  /// Returns true if the token still opens the space, for the same user and groups. Returns false if that isn't known.
  func holds() async -> Bool {
    let state = state.withLock { $0 }
    let now = now()
    if let end = state.grant.end, now >= end { return false }
    let generation = access.generation
    guard generation != state.generation else { return await opens(by: state.grant) }
    guard let grant = try? await access.grant(for: token[...], at: now),  // the reason doesn't matter
      grant.user == state.grant.user, await opens(by: grant)
    else { return false }
    self.state.withLock { $0 = State(grant: grant, generation: generation) }
    return true
  }

  private func opens(by grant: Grant) async -> Bool {
    do { return try await access.user(of: grant, in: space) != nil } catch { return false }
  }
}
