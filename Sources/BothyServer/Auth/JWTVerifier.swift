import BothyStore
import BothySyncService
import JWTKit

/// Verifies JSON Web Tokens and returns what they open (RFC 7519, with the care of RFC 8725).
///
/// The algorithm has to be that of a known key. Tokens with critical extensions and tokens without an end are refused.
/// Claims are read only if the signature is valid.
///
/// A call costs one signature check: a few microseconds for HS256, some ten for RSA, some hundred for ES256.
struct JWTVerifier: Sendable {
  let keys: JWTKeys
  let rules: JWTRules
  /// The names of the claims for the back end that decides about spaces, or `nil` if the token's own claims do.
  var claimsForSpaces: [String]?

  static let sizeLimit = 16_384
  static let groupLimit = 256

  /// True if the text has the form of a JSON Web Token.
  static func isCandidate(_ token: Substring) -> Bool { token.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

  func grant(for token: Substring, at now: Int64) async throws(TokenRefusal) -> Grant {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard token.utf8.count <= Self.sizeLimit, parts.count == 3, parts.allSatisfy({ !$0.isEmpty }),
      let header = Self.object(parts[0]), Base64URL.decode(parts[2]) != nil
    else { throw .malformed }
    guard header["crit"] == nil, header["b64"] == nil else { throw .malformed }
    guard let algorithm = header["alg"]?.stringValue.flatMap(JWTKeys.Algorithm.init(token:)) else {
      throw .algorithm
    }
    try await checkSignature(of: token, algorithm, keyID: header["kid"]?.stringValue)
    guard let claims = Self.object(parts[1]) else { throw .malformed }
    return try grant(from: claims, at: now)
  }

  private func checkSignature(
    of token: Substring, _ algorithm: JWTKeys.Algorithm, keyID: String?
  ) async throws(TokenRefusal) {
    let named = keyID == nil ? keys.keys : keys.named(keyID)
    let usable = named.filter { $0.algorithm == algorithm }
    guard !usable.isEmpty else { throw named.isEmpty ? .signature : .algorithm }
    for key in usable {
      // If the signature isn't valid with this key, it may be with the next one.
      if (try? await key.collection.verify(String(token), as: Signed.self)) != nil { return }
    }
    throw .signature
  }

  /// A payload without claims. The claims are read separately, because their names are configured.
  private struct Signed: JWTPayload {
    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  private static func object(_ part: Substring) -> [String: JSONValue]? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue(parsing: bytes))?.objectValue  // other JSON has no members
  }

  // MARK: claims

  /// Returns what the claims of a token with a valid signature open at `now`. Pure.
  func grant(from claims: [String: JSONValue], at now: Int64) throws(TokenRefusal) -> Grant {
    let leeway = Int64(rules.leeway / .milliseconds(1))
    guard let end = Self.milliseconds(claims["exp"]) else { throw .claims }
    guard now < end + leeway else { throw .expired }
    if let start = claims["nbf"] {
      guard let start = Self.milliseconds(start) else { throw .claims }
      guard start <= now + leeway else { throw .notYet }
    }
    if let issuer = rules.issuer, claims["iss"]?.stringValue != issuer { throw .issuer }
    if let audience = rules.audience, Self.names(claims["aud"])?.contains(audience) != true {
      throw .audience
    }
    guard let name = Self.claim(rules.userClaim, in: claims)?.stringValue, UserName.isValid(name)
    else { throw .claims }
    guard let groups = Self.names(Self.claim(rules.groupsClaim, in: claims)),
      groups.count <= Self.groupLimit, groups.allSatisfy(UserName.isValidGroup)
    else { throw .claims }
    let user = Caller(name, groups: Set(groups))
    if let names = claimsForSpaces {
      let shown = names.compactMap { name in Self.claim(name, in: claims).map { (name, $0) } }
      let question = SpaceQuestion(user, claims: Dictionary(shown, uniquingKeysWith: { first, _ in first }))
      return Grant(user: user, spaces: [], end: end + leeway, question: question)
    }
    guard let spaces = spaces(of: claims) else { throw .claims }
    return Grant(user: user, spaces: Set(spaces), end: end + leeway)
  }

  /// Returns the spaces of the claim, or those that templates such as `user-{sub}` make of claims.
  private func spaces(of claims: [String: JSONValue]) -> [String]? {
    guard rules.spacesClaim.contains("{") else {
      return Self.names(Self.claim(rules.spacesClaim, in: claims))
    }
    let templates = rules.spacesClaim.split(separator: ",")
    let spaces = templates.compactMap { Self.filled($0, with: claims) }
    return spaces.count == templates.count ? spaces : nil
  }

  /// Returns a template with claims in place of their names. Returns `nil` without one of them, and if other claims could
  /// make the same name. A claim opens one space alone, so it must not be `*`.
  private static func filled(_ template: Substring, with claims: [String: JSONValue]) -> String? {
    var (space, rest) = ("", template)
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let name = String(rest[rest.index(after: open)..<close])
      guard let part = claim(name, in: claims)?.stringValue, (1...512).contains(part.utf8.count),
        !part.unicodeScalars.contains(where: { $0 == "*" || $0 == "/" }), part.utf8.allSatisfy({ $0 >= 0x20 })
      else { return nil }
      space.append(contentsOf: rest[..<open])
      space.append(part)
      rest = rest[rest.index(after: close)...]
      guard ends(part, before: rest) else { return nil }
    }
    space.append(contentsOf: rest)
    return space
  }

  /// True if a claim can't be taken for a longer or shorter one beside the next claim of the template. Otherwise two
  /// pairs of claims would make the name of one space.
  private static func ends(_ part: String, before rest: Substring) -> Bool {
    guard let open = rest.firstIndex(of: "{"), rest[open...].contains("}"),
      let mark = rest.unicodeScalars.first
    else { return true }
    // With a mark that combines, "-" isn't the character that it begins.
    return mark != "{" && !part.unicodeScalars.contains(mark)
  }

  /// Returns the claim of this name, or the one that its parts lead to through objects.
  private static func claim(_ name: String, in claims: [String: JSONValue]) -> JSONValue? {
    if let claim = claims[name] { return claim }
    let path = name.split(separator: ".").map(String.init)
    guard let first = path.first, path.count > 1 else { return nil }
    return path.dropFirst().reduce(claims[first]) { $0?[$1] }
  }

  /// Returns the texts of an array, one text as an array, or an empty array without a claim. Returns `nil` for other
  /// JSON.
  private static func names(_ claim: JSONValue?) -> [String]? {
    guard let claim, !claim.isNull else { return [] }
    if let name = claim.stringValue { return [name] }
    guard let values = claim.arrayValue else { return nil }
    let names = values.compactMap(\.stringValue)
    return names.count == values.count ? names : nil
  }

  /// Converts seconds since 1970 (RFC 7519, section 2) to milliseconds. Accepts times within the next centuries.
  private static func milliseconds(_ claim: JSONValue?) -> Int64? {
    guard let seconds = claim?.doubleValue, seconds >= 0, seconds < 1e11 else { return nil }
    return Int64(seconds * 1000)
  }
}
