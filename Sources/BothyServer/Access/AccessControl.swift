import BothyStore
import Synchronization

/// Decides what a token opens: by a tokens file, by JSON Web Tokens, or by both.
///
/// What it reads from files is read again when they change, without a restart; a file that cannot be used then leaves
/// everything as it was. Whoever is connected by a token that no longer holds is disconnected.
public final class AccessControl: Sendable {
  private let files: AccessFiles?
  private let state: Mutex<State>

  private struct State: Sendable {
    var keys: Keys
    var stamps: [FileStamp?]
    /// Counts the changes, for those who keep a grant.
    var generation = 0
  }

  struct Keys: Sendable {
    var tokens: TokenTable?
    var verifier: JWTVerifier?
  }

  /// Tokens of a table that does not change.
  public convenience init(tokens: TokenTable) { self.init(Keys(tokens: tokens)) }

  /// JSON Web Tokens, and tokens of a table where one is given.
  public convenience init(jwt keys: JWTKeys, rules: JWTRules = JWTRules(), tokens: TokenTable? = nil) {
    self.init(Keys(tokens: tokens, verifier: JWTVerifier(keys: keys, rules: rules)))
  }

  private init(_ keys: Keys) {
    files = nil
    state = Mutex(State(keys: keys, stamps: []))
  }

  /// Reads the files. Throws `StoreError` or `JSONError` for one that cannot be used.
  public init(reading files: AccessFiles) async throws {
    let stamps = files.stamps()
    let keys = try await files.read()
    self.files = files
    state = Mutex(State(keys: keys, stamps: stamps))
  }

  /// How many tokens stand in clear in the tokens file.
  public var plainTokens: Int { state.withLock { $0.keys.tokens?.plainTokens ?? 0 } }

  /// Reads the files again where one of them has changed since the last look; says whether that was so.
  ///
  /// Throws, once for each change, when the new files cannot be used; what was read before stays in force.
  @discardableResult
  public func reload() async throws -> Bool {
    guard let files, case let stamps = files.stamps(), state.withLock({ $0.stamps != stamps }) else {
      return false
    }
    let keys: Keys
    do { keys = try await files.read() } catch {
      state.withLock { $0.stamps = stamps }
      throw error
    }
    state.withLock { state in
      state.stamps = stamps
      state.keys = keys
      state.generation += 1
    }
    return true
  }

  var generation: Int { state.withLock { $0.generation } }

  /// What a token opens at `now`, in milliseconds since 1970.
  func grant(for token: Substring, at now: Int64) async throws(TokenRefusal) -> Grant {
    let keys = state.withLock { $0.keys }
    if let tokens = keys.tokens {
      do { return try tokens.grant(for: token, at: now) } catch {
        guard error == .unknown, keys.verifier != nil else { throw error }
      }
    }
    guard let verifier = keys.verifier, JWTVerifier.isCandidate(token) else { throw .unknown }
    return try await verifier.grant(for: token, at: now)
  }
}

/// The files that say who may enter.
public struct AccessFiles: Sendable {
  /// The path of a tokens file (`TokenFile`); nil for none.
  public var tokens: String?
  /// The path of a key set, or of a PEM public key, for JSON Web Tokens; nil for none.
  public var jwtKeys: String?
  /// The path of the shared secret of HS256 tokens, all bytes of the file but a last line end; nil for none.
  public var jwtSecret: String?
  /// What JSON Web Tokens have to say; comes from no file and does not change when files do.
  public var rules: JWTRules
  private let read: @Sendable (String) throws -> [UInt8]

  /// - Parameter read: reads a whole file.
  public init(
    tokens: String? = nil, jwtKeys: String? = nil, jwtSecret: String? = nil, rules: JWTRules = JWTRules(),
    read: @escaping @Sendable (String) throws -> [UInt8]
  ) {
    self.tokens = tokens
    self.jwtKeys = jwtKeys
    self.jwtSecret = jwtSecret
    self.rules = rules
    self.read = read
  }

  fileprivate func stamps() -> [FileStamp?] {
    [tokens, jwtKeys, jwtSecret].map { $0.flatMap { FileStamp(path: $0) } }
  }

  fileprivate func read() async throws -> AccessControl.Keys {
    var found = AccessControl.Keys()
    if let tokens { found.tokens = try named(tokens) { try TokenTable(json: $0) } }
    guard jwtKeys != nil || jwtSecret != nil else { return found }
    var keys = JWTKeys()
    if let jwtKeys {
      let text = try read(jwtKeys)
      do { try await keys.addKeys(text) } catch { throw Self.naming(jwtKeys, error) }
    }
    if let jwtSecret {
      var secret = try read(jwtSecret)
      if secret.last == 0x0A { secret.removeLast() }
      if secret.last == 0x0D { secret.removeLast() }
      do { try await keys.addSecret(secret) } catch { throw Self.naming(jwtSecret, error) }
    }
    found.verifier = JWTVerifier(keys: keys, rules: rules)
    return found
  }

  private func named<Value>(_ path: String, _ parse: ([UInt8]) throws -> Value) throws -> Value {
    let text = try read(path)
    do { return try parse(text) } catch { throw Self.naming(path, error) }
  }

  private static func naming(_ path: String, _ error: any Error) -> any Error {
    switch error {
    case let error as StoreError: StoreError(error.code, "\(path) can't be used. \(error.message)")
    case let error as JSONError: StoreError(.invalidValue, "\(path) can't be used: \(error).")
    default: error
    }
  }
}
