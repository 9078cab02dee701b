import BothyStore
import Foundation
import JWTKit

/// The keys that verify tokens. Each key has one algorithm, HS256 or ES256, and is used with no other. The algorithm
/// that a token names selects among the keys, and never changes how a key is used.
public struct JWTKeys: Sendable {
  enum Algorithm: String, Sendable {
    case hs256 = "HS256"
    case es256 = "ES256"
  }

  struct Key: Sendable {
    var id: String?
    var algorithm: Algorithm
    /// The collection that holds this key and no other.
    var collection: JWTKeyCollection
  }

  private(set) var keys: [Key] = []
  /// The number of keys of a key set that aren't used, because their kind or algorithm isn't supported.
  public private(set) var skipped = 0

  /// Creates a collection without keys. It admits no token before `addSecret` or `addKeys`.
  public init() {}

  /// Adds a shared secret for HS256. Throws `BothyError` for a secret of fewer than 32 bytes. Also throws for text that
  /// looks like a public key: with a public key as the secret, anyone could make tokens.
  public mutating func addSecret(_ secret: [UInt8]) async throws {
    guard !String(decoding: secret.prefix(64), as: UTF8.self).contains("-----BEGIN") else {
      throw BothyError(
        .invalidValue, "The file of the JWT secret holds a PEM key. Public keys are given by --jwt-keys.")
    }
    try await add(secret: secret, id: nil)
  }

  /// Adds a key set (RFC 7517) or one PEM public key of the curve P-256. Throws `BothyError` if none of its keys can be
  /// used, and `JSONError` for other text.
  public mutating func addKeys(_ text: [UInt8]) async throws {
    let string = String(decoding: text, as: UTF8.self)
    if string.contains("-----BEGIN") {
      guard let key = try? ES256PublicKey(pem: string) else {
        throw BothyError(
          .invalidValue, "The PEM file holds no public key of the curve P-256, as ES256 needs.")
      }
      await add(key, id: nil)
      return
    }
    let set = try JSONValue(parsing: text)
    guard let members = set["keys"]?.arrayValue else {
      throw BothyError(
        .invalidValue, #"A key set is {"keys":[…]} (RFC 7517), or the file is a PEM public key."#)
    }
    for member in members where try await !add(member) { skipped += 1 }
    guard !keys.isEmpty else {
      throw BothyError(.invalidValue, "The key set has no key for ES256 (EC, P-256) or HS256 (oct).")
    }
  }

  /// Returns the keys with that id, or, if none has it, the keys without an id.
  func named(_ id: String?) -> [Key] {
    let exact = keys.filter { $0.id == id }
    return exact.isEmpty ? keys.filter { $0.id == nil } : exact
  }

  /// Returns false for a key of another kind.
  private mutating func add(_ member: JSONValue) async throws -> Bool {
    let id = member["kid"]?.stringValue
    let algorithm = member["alg"]?.stringValue
    guard member["use"]?.stringValue ?? "sig" == "sig" else { return false }
    switch member["kty"]?.stringValue {
    case "EC":
      guard algorithm ?? "ES256" == "ES256", member["crv"]?.stringValue == "P-256" else { return false }
      guard let x = member["x"]?.stringValue, let y = member["y"]?.stringValue,
        let key = try? ES256PublicKey(parameters: (x: x, y: y))
      else { throw BothyError(.invalidValue, "The key '\(id ?? "")' of the key set isn't a point of P-256.") }
      await add(key, id: id)
    case "oct":
      guard algorithm ?? "HS256" == "HS256" else { return false }
      guard let secret = member["k"]?.stringValue.flatMap(Base64URL.decode) else {
        throw BothyError(.invalidValue, "The key '\(id ?? "")' of the key set has no 'k' in base64url.")
      }
      try await add(secret: secret, id: id)
    default: return false
    }
    return true
  }

  private mutating func add(_ key: ES256PublicKey, id: String?) async {
    let collection = await JWTKeyCollection().add(ecdsa: key)
    keys.append(Key(id: id, algorithm: .es256, collection: collection))
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
