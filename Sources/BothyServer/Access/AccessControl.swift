import BothyStore
import Synchronization

/// Decides what a token opens: by a tokens file, by JSON Web Tokens, or by both.
///
/// Files are read again when they change, without a restart. If a changed file can't be used, the access read before
/// stays in force. A caller whose token no longer holds is disconnected.
public final class AccessControl: Sendable {
  private let files: AccessFiles?
  private let state: Mutex<State>

  private struct State: Sendable {
    var keys: Keys
    var stamps: [FileStamp?]
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
    state = Mutex(State(keys: keys, stamps: []))
  }

  /// Creates access control from files, and reads them. Throws `BothyError` or `JSONError` for a file that can't be
  /// used.
  public init(reading files: AccessFiles) async throws {
    let stamps = files.stamps()
    let keys = try await files.read()
    self.files = files
    state = Mutex(State(keys: keys, stamps: stamps))
  }

  /// The number of entries in the tokens file that hold their tokens in clear text.
  public var plainTokens: Int { state.withLock { $0.keys.tokens?.plainTokens ?? 0 } }

  /// Reads the files again if one of them has changed since the last check. Returns true if so.
  ///
  /// Throws, once for each change, if the new files can't be used. The access read before then stays in force.
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

  /// Returns what a token opens at `now`, in milliseconds since 1970.
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

/// The files that define access.
public struct AccessFiles: Sendable {
  /// The path of a tokens file (`TokenFile`), or `nil`.
  public var tokens: String?
  /// The path of a key set or of a PEM public key for JSON Web Tokens, or `nil`.
  public var jwtKeys: String?
  /// The path of the shared secret of HS256 tokens, or `nil`. The secret is all bytes of the file except a last line
  /// end.
  public var jwtSecret: String?
  /// The rules for JSON Web Tokens. They come from no file and don't change when files do.
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
    case let error as BothyError: BothyError(error.code, "\(path) can't be used. \(error.message)")
    case let error as JSONError: BothyError(.invalidValue, "\(path) can't be used: \(error).")
    default: error
    }
  }
}
