import BothyStore

/// The files that define access, and the address of a key set.
///
/// Each of them is optional. `Authentication` reads all of them at first, and all again when the time or size
/// of one changes.
public struct AccessFiles: Sendable {
  /// The path of a tokens file (`TokenFile`), or `nil`. A token in it is found before JSON Web Tokens are
  /// tried.
  public var tokens: String?
  /// The path of a key set or of a PEM public key for JSON Web Tokens, or `nil`. See `JWTKeys.addKeys(_:)`.
  public var jwtKeys: String?
  /// The address of a key set for JSON Web Tokens, or `nil`.
  public var keyAddress: JWTKeyAddress?
  /// The path of the shared secret of HS256 tokens, or `nil`.
  ///
  /// The secret is all bytes of the file except a last line end. It has at least 32 bytes.
  public var jwtSecret: String?
  /// The rules for JSON Web Tokens. They come from no file and don't change when files do.
  public var rules: JWTRules
  /// The back end that decides about the spaces of JSON Web Tokens, or `nil` if their claims do.
  public var spaces: SpaceCallout?
  private let read: @Sendable (String) throws -> [UInt8]

  /// Creates the value. It reads no file and makes no request.
  ///
  /// - Parameters:
  ///   - tokens: the path of a tokens file.
  ///   - jwtKeys: the path of a key set or of a PEM public key.
  ///   - keyAddress: the address of a key set.
  ///   - jwtSecret: the path of a shared secret.
  ///   - rules: the rules for JSON Web Tokens.
  ///   - spaces: the back end that decides about the spaces of JSON Web Tokens.
  ///   - read: reads a whole file. It may block, and throws for a file that can't be read.
  public init(
    tokens: String? = nil, jwtKeys: String? = nil, keyAddress: JWTKeyAddress? = nil, jwtSecret: String? = nil,
    rules: JWTRules = JWTRules(), spaces: SpaceCallout? = nil,
    read: @escaping @Sendable (String) throws -> [UInt8]
  ) {
    self.tokens = tokens
    self.jwtKeys = jwtKeys
    self.keyAddress = keyAddress
    self.jwtSecret = jwtSecret
    self.rules = rules
    self.spaces = spaces
    self.read = read
  }

  func stamps() -> [FileVersion?] {
    [tokens, jwtKeys, jwtSecret].map { $0.flatMap { FileVersion(path: $0) } }
  }

  /// The contents of the files.
  struct Contents: Sendable {
    var tokens: TokenTable?
    /// The keys for JSON Web Tokens, without those of the address.
    var keys = JWTKeys()
  }

  /// Reads the files. Throws `BothyError` or `JSONError` for one that can't be used.
  func contents() async throws -> Contents {
    var found = Contents()
    if let tokens { found.tokens = try named(tokens) { try TokenTable(json: $0) } }
    if let jwtKeys {
      let text = try read(jwtKeys)
      do { try await found.keys.addKeys(text) } catch { throw Self.naming(jwtKeys, error) }
    }
    if let jwtSecret {
      var secret = try read(jwtSecret)
      if secret.last == 0x0A { secret.removeLast() }
      if secret.last == 0x0D { secret.removeLast() }
      do { try await found.keys.addSecret(secret) } catch { throw Self.naming(jwtSecret, error) }
    }
    return found
  }

  /// Returns the keys of a response of the address. Throws `BothyError` or `JSONError` if none can be used, or if its
  /// issuer isn't that of the rules.
  func keys(of keySet: JWTKeyAddress.KeySet) async throws -> JWTKeys {
    if let issuer = keySet.issuer, let expected = rules.issuer, issuer != expected {
      throw BothyError(
        .invalidValue, "The provider's metadata names the issuer \(issuer), and the rules name \(expected).")
    }
    var keys = JWTKeys()
    do { try await keys.addKeys(keySet.text) } catch { throw Self.naming(keyAddress?.url ?? "", error) }
    return keys
  }

  /// Returns the verifier for the keys of files and provider, or `nil` if no JSON Web Tokens are accepted.
  func verifier(_ contents: Contents, _ provider: ProviderKeys?) -> JWTVerifier? {
    guard jwtKeys != nil || jwtSecret != nil || keyAddress != nil else { return nil }
    var (keys, rules) = (contents.keys, rules)
    if let provider { keys.add(provider.keys) }
    rules.issuer = rules.issuer ?? provider?.issuer
    return JWTVerifier(keys: keys, rules: rules, claimsForSpaces: spaces?.claims)
  }

  private func named<Value>(_ path: String, _ parse: ([UInt8]) throws -> Value) throws -> Value {
    let text = try read(path)
    do { return try parse(text) } catch { throw Self.naming(path, error) }
  }

  private static func naming(_ path: String, _ error: any Error) -> any Error {
    switch error {
    case let error as BothyError: BothyError(error.code, "\(path) can't be used. \(error.message)")
    case let error as JSONError: BothyError(.invalidValue, "\(path) can't be used: \(error)")
    default: error
    }
  }
}
