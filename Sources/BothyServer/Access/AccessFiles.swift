import BothyStore

/// The files that define access, and the address of a key set.
public struct AccessFiles: Sendable {
  /// The path of a tokens file (`TokenFile`), or `nil`.
  public var tokens: String?
  /// The path of a key set or of a PEM public key for JSON Web Tokens, or `nil`.
  public var jwtKeys: String?
  /// The address of a key set for JSON Web Tokens, or `nil`.
  public var keyAddress: JWTKeyAddress?
  /// The path of the shared secret of HS256 tokens, or `nil`. The secret is all bytes of the file except a last line
  /// end.
  public var jwtSecret: String?
  /// The rules for JSON Web Tokens. They come from no file and don't change when files do.
  public var rules: JWTRules
  private let read: @Sendable (String) throws -> [UInt8]

  /// - Parameter read: reads a whole file.
  public init(
    tokens: String? = nil, jwtKeys: String? = nil, keyAddress: JWTKeyAddress? = nil, jwtSecret: String? = nil,
    rules: JWTRules = JWTRules(), read: @escaping @Sendable (String) throws -> [UInt8]
  ) {
    self.tokens = tokens
    self.jwtKeys = jwtKeys
    self.keyAddress = keyAddress
    self.jwtSecret = jwtSecret
    self.rules = rules
    self.read = read
  }

  func stamps() -> [FileVersion?] {
    [tokens, jwtKeys, jwtSecret].map { $0.flatMap { FileVersion(path: $0) } }
  }

  /// Reads the files, beside a key set from the address.
  func read(_ keySet: JWTKeyAddress.KeySet?) async throws -> Authentication.Keys {
    var found = Authentication.Keys()
    if let tokens { found.tokens = try named(tokens) { try TokenTable(json: $0) } }
    guard jwtKeys != nil || jwtSecret != nil || keyAddress != nil else { return found }
    var keys = JWTKeys()
    if let jwtKeys {
      let text = try read(jwtKeys)
      do { try await keys.addKeys(text) } catch { throw Self.naming(jwtKeys, error) }
    }
    if let keySet, let keyAddress {
      do { try await keys.addKeys(keySet.text) } catch { throw Self.naming(keyAddress.url, error) }
    }
    if let jwtSecret {
      var secret = try read(jwtSecret)
      if secret.last == 0x0A { secret.removeLast() }
      if secret.last == 0x0D { secret.removeLast() }
      do { try await keys.addSecret(secret) } catch { throw Self.naming(jwtSecret, error) }
    }
    var rules = rules
    if let issuer = keySet?.issuer {
      guard rules.issuer == nil || rules.issuer == issuer else {
        throw BothyError(
          .invalidValue,
          "The provider's metadata names the issuer \(issuer), and the rules name \(rules.issuer ?? "").")
      }
      rules.issuer = issuer
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
