import BothyStore
import Synchronization

/// Decides what a token opens: by a tokens file, by JSON Web Tokens, or by both.
///
/// Files are read again when they change, without a restart, and a key set at an address when its time is over. If a
/// changed file can't be used, the access read before stays in force. A caller whose token no longer holds is
/// disconnected.
public final class Authentication: Sendable {
  private let files: AccessFiles?
  /// The back end that decides about the spaces of JSON Web Tokens, or `nil` if their claims do.
  let spaces: SpaceCallout?
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>

  private struct State: Sendable {
    var contents: AccessFiles.Contents
    var verifier: JWTVerifier?
    var stamps: [FileVersion?] = []
    /// The keys from an address.
    var provider: ProviderKeys?
    /// The number of changes so far, for callers that hold a grant.
    var generation = 0

    /// Puts what was read in force.
    mutating func renew(by files: AccessFiles) {
      verifier = files.verifier(contents, provider)
      generation += 1
    }
  }

  /// Creates access control by the tokens of a table that doesn't change.
  ///
  /// Every check is one look-up in memory. `reload()` does nothing.
  public convenience init(tokens: TokenTable) { self.init(tokens: tokens, verifier: nil, spaces: nil) }

  /// Creates access control by JSON Web Tokens, and by the tokens of `tokens` if it is given.
  ///
  /// The table is searched first. Neither keys nor rules change, so a new key needs a new server. An empty
  /// collection of keys admits no JSON Web Token.
  ///
  /// - Parameter spaces: the back end that decides about the spaces of JSON Web Tokens. With `nil` their claims do.
  public convenience init(
    jwt keys: JWTKeys, rules: JWTRules = JWTRules(), tokens: TokenTable? = nil, spaces: SpaceCallout? = nil
  ) {
    let verifier = JWTVerifier(keys: keys, rules: rules, claimsForSpaces: spaces?.claims)
    self.init(tokens: tokens, verifier: verifier, spaces: spaces)
  }

  private init(tokens: TokenTable?, verifier: JWTVerifier?, spaces: SpaceCallout?) {
    files = nil
    self.spaces = spaces
    now = { 0 }
    state = Mutex(State(contents: AccessFiles.Contents(tokens: tokens), verifier: verifier))
  }

  /// Creates access control from files, and reads them. Requests the key set if they name an address.
  ///
  /// The server reads them again while it runs. Files without any token or key admit no caller.
  ///
  /// - Parameters:
  ///   - files: the paths, the address and the rules.
  ///   - now: the present time, in milliseconds since 1970.
  /// - Throws: `BothyError` or `JSONError` for a file or key set that can't be used, and `.unreachable` or
  ///   `.serverError` for an address that gives none.
  public init(reading files: AccessFiles, now: @escaping @Sendable () -> Int64) async throws {
    let stamps = files.stamps()
    var state = State(contents: try await files.contents(), stamps: stamps)
    if let keySet = try await files.keyAddress?.keySet() {
      state.provider = ProviderKeys(keySet, try await files.keys(of: keySet), at: now())
    }
    state.renew(by: files)
    self.files = files
    spaces = files.spaces
    self.now = now
    self.state = Mutex(state)
  }

  /// The number of entries in the tokens file that hold their tokens in clear text.
  ///
  /// 0 without a tokens file. Replace such tokens by `TokenFile.hashPlainTokens()`.
  public var plainTokens: Int { state.withLock { $0.contents.tokens?.plainTokens ?? 0 } }

  /// Reads the files again if one of them has changed since the last check, and requests the key set if its
  /// time is over. Returns true if access changed.
  ///
  /// A running server does this every second. Without a change it costs a look-up of each file. May be called
  /// from any task.
  ///
  /// - Throws: once for each change or request, if the new files or keys can't be used. The access read
  ///   before then stays in force.
  @discardableResult
  public func reload() async throws -> Bool {
    let isNew = try await reloadFiles()
    return try await reloadKeys() || isNew
  }

  /// Like `reload()`, but for the files alone. Never waits for a provider.
  func reloadFiles() async throws -> Bool {
    guard let files, case let stamps = files.stamps(), state.withLock({ $0.stamps != stamps }) else {
      return false
    }
    let contents: AccessFiles.Contents
    do { contents = try await files.contents() } catch {
      state.withLock { $0.stamps = stamps }
      throw error
    }
    state.withLock { state in
      (state.contents, state.stamps) = (contents, stamps)
      state.renew(by: files)
    }
    return true
  }

  /// Like `reload()`, but for the key set alone.
  func reloadKeys() async throws -> Bool { try await requestKeys(isMissed: false) }

  /// Requests the key set if it is due. Returns true if access changed.
  private func requestKeys(isMissed: Bool) async throws -> Bool {
    let now = now()
    guard let files, let address = files.keyAddress,
      state.withLock({ $0.provider?.begin(at: now, isMissed: isMissed) ?? false })
    else { return false }
    defer { for caller in state.withLock({ $0.provider?.end() ?? [] }) { caller.resume() } }
    do {
      let keySet = try await address.keySet()
      let keys = try await files.keys(of: keySet)
      return change(by: files) { $0.take(keySet, keys, at: now) }
    } catch {
      _ = change(by: files) { $0.drop(at: now) }
      throw error
    }
  }

  /// Changes the keys of the provider, and puts them in force if `body` returns true. Returns what it returned.
  private func change(by files: AccessFiles, _ body: (inout ProviderKeys) -> Bool) -> Bool {
    state.withLock { state in
      guard var provider = state.provider, case let isNew = body(&provider) else { return false }
      state.provider = provider
      if isNew { state.renew(by: files) }
      return isNew
    }
  }

  /// Requests the key set for a token with an unknown key, or waits for a request that is under way.
  private func requestMissedKeys() async {
    // Without an answer the token stays refused. The next request when the key set is due is logged.
    _ = try? await requestKeys(isMissed: true)
    await withCheckedContinuation { caller in
      if !state.withLock({ $0.provider?.wait(caller) ?? false }) { caller.resume() }
    }
  }

  var generation: Int { state.withLock { $0.generation } }

  /// Returns what a token opens at `now`, in milliseconds since 1970.
  func grant(for token: Substring, at now: Int64) async throws(TokenRefusal) -> Grant {
    let (tokens, verifier, generation) = state.withLock { ($0.contents.tokens, $0.verifier, $0.generation) }
    if let tokens {
      do { return try tokens.grant(for: token, at: now) } catch {
        guard error == .unknown, verifier != nil else { throw error }
      }
    }
    guard let verifier, JWTVerifier.isCandidate(token) else { throw .unknown }
    do { return try await verifier.grant(for: token, at: now) } catch {
      guard error == .signature || error == .algorithm else { throw error }
      await requestMissedKeys()
      let renewed = state.withLock { $0.generation == generation ? nil : $0.verifier }
      guard let renewed else { throw error }
      return try await renewed.grant(for: token, at: now)
    }
  }

  /// Returns the user of a grant with its rights in a space, or `nil` if the space is closed to it. Throws if the back
  /// end that decides about it doesn't answer.
  func user(of grant: Grant, in space: String) async throws(CalloutOutage) -> Caller? {
    guard let question = grant.question, let spaces else {
      return grant.admits(to: space) ? grant.user : nil
    }
    guard space.isNormalName, let right = try await spaces.right(question, in: space) else { return nil }
    var user = grant.user
    user.isReader = right == .read
    return user
  }

  /// Returns the names of the spaces that a grant opens, `*` for all. Throws like `user(of:in:)`.
  func spaces(of grant: Grant) async throws(CalloutOutage) -> Set<String> {
    guard let question = grant.question, let spaces else { return grant.spaces }
    return try await spaces.spaces(question)
  }
}
