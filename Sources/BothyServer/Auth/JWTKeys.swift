import BothyStore
import Foundation
import JWTKit

/// The keys that verify tokens. Each key has one algorithm and is used with no other. The algorithm that a token names
/// selects among the keys, and never changes how a key is used. An RSA key for which its set names no algorithm counts as
/// six keys, for RS256, RS384, RS512, PS256, PS384 and PS512.
///
/// The algorithms are these six, HS256, ES256, ES384, ES512 and EdDSA (RFC 7518, RFC 8037). A token may call EdDSA
/// Ed25519 (RFC 9864).
public struct JWTKeys: Sendable {
  enum Algorithm: String, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"

    /// Creates an algorithm by its name in a token. Ed25519 is the newer name of EdDSA with that curve (RFC 9864).
    init?(token name: String) {
      self.init(rawValue: name == "Ed25519" ? "EdDSA" : name)
    }
  }

  struct Key: Sendable {
    var id: String?
    var algorithm: Algorithm
    /// The collection that holds this key and no other.
    var collection: JWTKeyCollection
  }

  private(set) var keys: [Key] = []
  /// The number of keys of a key set that aren't used, because they are damaged, or their kind or algorithm
  /// isn't supported.
  ///
  /// Keys for encryption count too. A token of such a key is refused.
  public private(set) var skipped = 0

  /// Creates a collection without keys. It admits no token before `addSecret` or `addKeys`.
  public init() {}

  /// Adds a shared secret for HS256. All bytes count, a line end too.
  ///
  /// - Throws: `BothyError` `.invalidValue` for a secret of fewer than 32 bytes. Also throws for text that
  ///   looks like a public key: with a public key as the secret, anyone could make tokens.
  public mutating func addSecret(_ secret: [UInt8]) async throws {
    guard !String(decoding: secret.prefix(64), as: UTF8.self).contains("-----BEGIN") else {
      throw BothyError(
        .invalidValue, "The file of the JWT secret holds a PEM key. Public keys are given by --jwt-keys.")
    }
    try await add(secret: secret, id: nil)
  }

  /// Adds a key set (RFC 7517) or one PEM public key, of RSA, P-256, P-384, P-521 or Ed25519.
  ///
  /// RSA keys have at least 2048 bits, and a PEM key of RSA is for RS256. Keys of a set that can't be used are skipped,
  /// and the others are added.
  ///
  /// - Throws: `BothyError` `.invalidValue` if none of the keys can be used, and `JSONError` for other text.
  public mutating func addKeys(_ text: [UInt8]) async throws {
    let string = String(decoding: text, as: UTF8.self)
    if string.contains("-----BEGIN") { return try await addKey(pem: string) }
    let set = try JSONValue(parsing: text)
    guard let members = set["keys"]?.arrayValue else {
      throw BothyError(
        .invalidValue, #"A key set is {"keys":[…]} (RFC 7517), or the file is a PEM public key."#)
    }
    let (before, reason) = (keys.count, try await add(members))
    guard keys.count > before else {
      throw reason
        ?? BothyError(
          .invalidValue,
          "The key set has no key of RSA, EC (P-256, P-384, P-521), OKP (Ed25519) or oct (HS256) for signatures."
        )
    }
  }

  /// Adds the keys that can be used, and counts the others. Returns the reason of the first that is damaged.
  private mutating func add(_ members: [JSONValue]) async throws -> BothyError? {
    var reason: BothyError?
    for member in members {
      do { if try await !add(member) { skipped += 1 } } catch let error as BothyError {
        skipped += 1
        reason = reason ?? error
      }
    }
    return reason
  }

  private mutating func addKey(pem: String) async throws {
    let collection = JWTKeyCollection()
    let algorithm: Algorithm
    if let key = try? ES256PublicKey(pem: pem) {
      await collection.add(ecdsa: key)
      algorithm = .es256
    } else if let key = try? ES384PublicKey(pem: pem) {
      await collection.add(ecdsa: key)
      algorithm = .es384
    } else if let key = try? ES512PublicKey(pem: pem) {
      await collection.add(ecdsa: key)
      algorithm = .es512
    } else if let key = try? EdDSA.PublicKey(pem: pem) {
      await collection.add(eddsa: key)
      algorithm = .edDSA
    } else if let key = try? Insecure.RSA.PublicKey(pem: pem) {
      await collection.add(rsa: key, digestAlgorithm: .sha256)
      algorithm = .rs256
    } else {
      throw BothyError(
        .invalidValue,
        "The PEM file holds no public key of P-256, P-384, P-521, Ed25519 or RSA with at least 2048 bits. "
          + "A certificate is converted by `openssl x509 -pubkey -noout -in FILE`.")
    }
    keys.append(Key(id: nil, algorithm: algorithm, collection: collection))
  }

  /// Adds the keys of another collection.
  mutating func add(_ other: JWTKeys) {
    keys += other.keys
    skipped += other.skipped
  }

  /// Returns the keys with that id, or, if none has it, the keys without an id.
  func named(_ id: String?) -> [Key] {
    let exact = keys.filter { $0.id == id }
    return exact.isEmpty ? keys.filter { $0.id == nil } : exact
  }

  /// Returns false for a key of another kind.
  private mutating func add(_ member: JSONValue) async throws -> Bool {
    let name = member["alg"]?.stringValue
    guard member["use"]?.stringValue ?? "sig" == "sig" else { return false }
    switch (member["kty"]?.stringValue, member["crv"]?.stringValue) {
    case ("EC", "P-256") where name ?? "ES256" == "ES256": return try await addPoint(member, .es256)
    case ("EC", "P-384") where name ?? "ES384" == "ES384": return try await addPoint(member, .es384)
    case ("EC", "P-521") where name ?? "ES512" == "ES512": return try await addPoint(member, .es512)
    case ("OKP", "Ed25519") where ["EdDSA", "Ed25519"].contains(name ?? "EdDSA"):
      let key = try used(member, "a point of Ed25519") {
        try EdDSA.PublicKey(x: $0("x"), curve: .ed25519)
      }
      await append(member, .edDSA) { await $0.add(eddsa: key) }
    case ("RSA", _): return try await addRSA(member, name)
    case ("oct", _) where name ?? "HS256" == "HS256":
      guard let secret = member["k"]?.stringValue.flatMap(Base64URL.decode) else {
        throw Self.unusable(member, "a secret with 'k' in base64url")
      }
      try await add(secret: secret, id: member["kid"]?.stringValue)
    default: return false
    }
    return true
  }

  /// Adds an RSA key for the algorithm of this name, or for all of them. Returns false for an unknown name.
  private mutating func addRSA(_ member: JSONValue, _ name: String?) async throws -> Bool {
    let digests: [Algorithm: DigestAlgorithm] = [
      .rs256: .sha256, .rs384: .sha384, .rs512: .sha512, .ps256: .sha256, .ps384: .sha384, .ps512: .sha512,
    ]
    let named = digests.filter { name == nil || $0.key.rawValue == name }
    guard !named.isEmpty else { return false }
    let key = try used(member, "an RSA key with at least 2048 bits") {
      try Insecure.RSA.PublicKey(modulus: $0("n"), exponent: $0("e"))
    }
    for (algorithm, digest) in named {
      await append(member, algorithm) {
        if [.ps256, .ps384, .ps512].contains(algorithm) {
          await $0.add(pss: key, digestAlgorithm: digest)
        } else {
          await $0.add(rsa: key, digestAlgorithm: digest)
        }
      }
    }
    return true
  }

  private mutating func addPoint(_ member: JSONValue, _ algorithm: Algorithm) async throws -> Bool {
    switch algorithm {
    case .es256:
      let key = try used(member, "a point of P-256") {
        try ES256PublicKey(parameters: (x: $0("x"), y: $0("y")))
      }
      await append(member, algorithm) { await $0.add(ecdsa: key) }
    case .es384:
      let key = try used(member, "a point of P-384") {
        try ES384PublicKey(parameters: (x: $0("x"), y: $0("y")))
      }
      await append(member, algorithm) { await $0.add(ecdsa: key) }
    default:
      let key = try used(member, "a point of P-521") {
        try ES512PublicKey(parameters: (x: $0("x"), y: $0("y")))
      }
      await append(member, algorithm) { await $0.add(ecdsa: key) }
    }
    return true
  }

  private mutating func append(
    _ member: JSONValue, _ algorithm: Algorithm, _ add: (JWTKeyCollection) async -> Void
  ) async {
    let collection = JWTKeyCollection()
    await add(collection)
    keys.append(Key(id: member["kid"]?.stringValue, algorithm: algorithm, collection: collection))
  }

  /// Makes a key of the members that `make` reads by name.
  private func used<PublicKey>(
    _ member: JSONValue, _ what: String, _ make: ((String) throws -> String) throws -> PublicKey
  ) throws -> PublicKey {
    do {
      return try make { name in
        guard let text = member[name]?.stringValue else { throw Self.unusable(member, what) }
        return text
      }
    } catch { throw Self.unusable(member, what) }
  }

  private static func unusable(_ member: JSONValue, _ what: String) -> BothyError {
    BothyError(.invalidValue, "The key '\(member["kid"]?.stringValue ?? "")' of the key set isn't \(what).")
  }

  private mutating func add(secret: [UInt8], id: String?) async throws {
    guard secret.count >= 32 else {
      throw BothyError(
        .invalidValue, "A JWT secret has at least 32 random bytes; this one has \(secret.count).")
    }
    let collection = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
    keys.append(Key(id: id, algorithm: .hs256, collection: collection))
  }
}
