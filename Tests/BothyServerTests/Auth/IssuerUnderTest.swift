import BothyServer
import Foundation
import JWTKit

/// An issuer of JSON Web Tokens: a key pair, a secret, and the claims that a test wants.
struct IssuerUnderTest: Sendable {
  struct Claims: JWTPayload {
    var sub: String? = "ann"
    var exp: Double? = 100
    var nbf: Double?
    var iss: String?
    var aud: [String]?
    var groups: [String]?
    var spaces: [String]? = ["hut"]
    var realm: [String: [String]]?

    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  let key = ES256PrivateKey()
  /// The secret is long enough for HS512, which the server doesn't accept.
  let secret = Array(String(repeating: "a shared secret ", count: 5).utf8)

  /// Returns a token signed with the pair's private key.
  func es256(_ claims: Claims = Claims(), kid: String? = "pair") async throws -> String {
    try await JWTKeyCollection().add(ecdsa: key).sign(claims, header: header(kid))
  }

  func hs256(_ claims: Claims = Claims(), kid: String? = nil, secret: [UInt8]? = nil) async throws -> String {
    try await JWTKeyCollection().add(hmac: HMACKey(from: secret ?? self.secret), digestAlgorithm: .sha256)
      .sign(claims, header: header(kid))
  }

  /// Returns a token signed with the private key. Its header has these fields, which may be wrong.
  func es256(header: JWTHeader) async throws -> String {
    try await JWTKeyCollection().add(ecdsa: key).sign(Claims(), header: header)
  }

  /// Returns a token signed with the secret. Its header has these fields, which may be wrong.
  func hs256(header: JWTHeader) async throws -> String {
    try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
      .sign(Claims(), header: header)
  }

  func hs512(_ claims: Claims = Claims()) async throws -> String {
    try await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha512).sign(claims)
  }

  /// Returns a token whose header says that it isn't signed.
  func unsigned(_ algorithm: String = "none") async throws -> String {
    let payload = try await es256().split(separator: ".")[1]
    return "\(Self.encoded(#"{"alg":"\#(algorithm)","typ":"JWT"}"#)).\(payload)."
  }

  private func header(_ kid: String?) -> JWTHeader {
    var header = JWTHeader()
    header.kid = kid
    return header
  }

  static func encoded(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
      "=", with: "")
  }

  /// The key set: the pair's public key, and one of a kind that the server ignores.
  var keySet: String {
    let point = key.publicKey.parameters
    func url(_ text: String?) -> String {
      (text ?? "").replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return """
      {"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"pair","x":"\(url(point?.x))","y":"\(url(point?.y))"},
      {"kty":"RSA","kid":"old","n":"AQAB","e":"AQAB"}]}
      """
  }

  func access(
    _ rules: JWTRules = JWTRules(), withSecret: Bool = true, tokens: TokenTable? = nil,
    spaces: SpaceCallout? = nil
  ) async throws -> Authentication {
    var keys = JWTKeys()
    try await keys.addKeys(Array(keySet.utf8))
    if withSecret { try await keys.addSecret(secret) }
    return Authentication(jwt: keys, rules: rules, tokens: tokens, spaces: spaces)
  }
}

extension IssuerUnderTest {
  /// Returns a server with a clock that the test sets, and a token that ends there at 50 seconds.
  func serverWithEndingToken(
    limits: ServerConfiguration.Limits = .init()
  ) async throws -> (server: ServerUnderTest, clock: ClockUnderTest, token: String) {
    let clock = ClockUnderTest()
    var server = try ServerUnderTest(limits: limits)
    server.configuration.access = try await access(JWTRules(leeway: .zero))
    server.configuration.now = { clock.now }
    return (server, clock, try await hs256(.init(exp: 50)))
  }
}
