import BothyStore
import Synchronization

/// Decides what a token opens: by a tokens file, by JSON Web Tokens, or by both.
///
/// Files are read again when they change, without a restart, and a key set at an address when its time is over. If a
/// changed file can't be used, the access read before stays in force. A caller whose token no longer holds is
/// disconnected.
public final class Authentication: Sendable {
  private let files: AccessFiles?
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>

  private struct State: Sendable {
    var keys: Keys
    var stamps: [FileVersion?]
    /// The key set from an address, and the time of its next request.
    var keySet: JWTKeyAddress.KeySet?
    var schedule: KeySetSchedule?
    /// The number of changes so far, for callers that hold a grant.
    var generation = 0
  }

  struct Keys: Sendable {
    var tokens: TokenTable?
    var verifier: JWTVerifier?
  }

  /// Creates access control by the tokens of a table that doesn't change.
  public convenience init(tokens: TokenTable) { self.init(Keys(tokens: tokens)) }

  /// Creates access control by JSON Web Tokens, and by the tokens of `tokens` if it is given.
  public convenience init(jwt keys: JWTKeys, rules: JWTRules = JWTRules(), tokens: TokenTable? = nil) {
    self.init(Keys(tokens: tokens, verifier: JWTVerifier(keys: keys, rules: rules)))
  }

  private init(_ keys: Keys) {
    files = nil
    now = { 0 }
    state = Mutex(State(keys: keys, stamps: []))
  }

  /// Creates access control from files, and reads them. Requests the key set if they name an address. Throws
  /// `BothyError` or `JSONError` for a file or key set that can't be used.
  ///
  /// - Parameter now: the present time, in milliseconds since 1970.
  public init(reading files: AccessFiles, now: @escaping @Sendable () -> Int64) async throws {
    let stamps = files.stamps()
    let keySet = try await files.keyAddress?.keySet()
    let keys = try await files.read(keySet)
    self.files = files
    self.now = now
    let schedule = keySet.map { KeySetSchedule(answeredAt: now(), freshFor: $0.freshFor) }
    state = Mutex(State(keys: keys, stamps: stamps, keySet: keySet, schedule: schedule))
  }

  /// The number of entries in the tokens file that hold their tokens in clear text.
  public var plainTokens: Int { state.withLock { $0.keys.tokens?.plainTokens ?? 0 } }

  /// Reads the files again if one of them has changed since the last check, and requests the key set if its time is
  /// over. Returns true if access changed.
  ///
  /// Throws, once for each change or request, if the new files or keys can't be used. The access read before then stays
  /// in force.
  @discardableResult
  public func reload() async throws -> Bool {
    let isNew = try await reloadFiles()
    return try await requestKeys(isMissed: false) || isNew
  }

  private func reloadFiles() async throws -> Bool {
    guard let files, case let stamps = files.stamps(), state.withLock({ $0.stamps != stamps }) else {
      return false
    }
    let keys: Keys
    do { keys = try await files.read(state.withLock { $0.keySet }) } catch {
      state.withLock { $0.stamps = stamps }
      throw error
    }
    set(keys) { $0.stamps = stamps }
    return true
  }

  /// Requests the key set if it is due. Returns true if access changed.
  private func requestKeys(isMissed: Bool) async throws -> Bool {
    let now = now()
    let isDue = state.withLock { state in
      guard state.schedule?.isDue(at: now, isMissed: isMissed) ?? false else { return false }
      state.schedule?.begin(at: now)
      return true
    }
    guard isDue, let files, let address = files.keyAddress else { return false }
    do {
      let keySet = try await address.keySet()
      let keys = try await files.read(keySet)
      let isNew = state.withLock { $0.keySet?.text != keySet.text || $0.keySet?.issuer != keySet.issuer }
      let schedule = KeySetSchedule(answeredAt: now, freshFor: keySet.freshFor)
      if isNew {
        set(keys) { ($0.keySet, $0.schedule) = (keySet, schedule) }
      } else {
        state.withLock { $0.schedule = schedule }
      }
      return isNew
    } catch {
      if state.withLock({ $0.keySet != nil && $0.schedule?.isOver(at: now) ?? false }) {
        let keys = try await files.read(nil)
        set(keys) { $0.keySet = nil }
      }
      throw error
    }
  }

  private func set(_ keys: Keys, _ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      state.keys = keys
      state.generation += 1
    }
  }

  var generation: Int { state.withLock { $0.generation } }

  /// Returns what a token opens at `now`, in milliseconds since 1970.
  func grant(for token: Substring, at now: Int64) async throws(TokenRefusal) -> Grant {
    let keys = state.withLock { $0.keys }
    if let tokens = keys.tokens {
      do { return try tokens.grant(for: token, at: now) } catch {
        guard error == .unknown, keys.verifier != nil else { throw error }
      }
    }
    guard let verifier = keys.verifier, JWTVerifier.isCandidate(token) else { throw .unknown }
    do { return try await verifier.grant(for: token, at: now) } catch {
      // The provider may have a new key.
      guard error == .signature || error == .algorithm,
        (try? await requestKeys(isMissed: true)) == true,
        let renewed = state.withLock({ $0.keys.verifier })
      else { throw error }
      return try await renewed.grant(for: token, at: now)
    }
  }
}
