import BothyServer
import BothyStore
import BothySync
import BothyTestSupport
import Foundation
import HTTPTypes
import JWTKit
import Testing

@Suite("JSON Web Tokens", .timeLimit(.minutes(5)))
struct JWTTests {
  private let issuer = IssuerUnderTest()
  private static let address = "/v1/spaces/hut/changes"

  private func server(_ rules: JWTRules = JWTRules(), withSecret: Bool = true) async throws -> ServerUnderTest
  {
    var server = try ServerUnderTest()
    server.configuration.access = try await issuer.access(rules, withSecret: withSecret)
    return server
  }

  private typealias Claims = IssuerUnderTest.Claims

  @Test("ES256 by a key set and HS256 by a secret open named spaces only")
  func opens() async throws {
    let tokens = [try await issuer.es256(), try await issuer.es256(kid: nil), try await issuer.hs256()]
    try await server().run { call async throws in
      for token in tokens {
        #expect(try await call.with(token: token)(.get, Self.address).status == 200)
        #expect(try await call.with(token: token)(.get, "/v1/spaces/other/changes").status == 403)
      }
      let made = try await call.with(token: tokens[0])(
        .put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#)
      #expect(try made.json()["owner"] == "ann")
    }
  }

  @Test("Tokens with another algorithm, none, or a public key as secret are refused")
  func confusion() async throws {
    let publicKey = Array(issuer.key.publicKey.pemRepresentation.utf8)
    let point = Array((issuer.key.publicKey.parameters?.x ?? "").utf8)
    let stranger = IssuerUnderTest()
    var tokens = [
      try await issuer.hs512(), try await issuer.hs256(secret: publicKey),
      try await issuer.hs256(kid: "pair", secret: publicKey), try await issuer.hs256(secret: point),
      try await stranger.es256(), try await issuer.hs256(kid: "pair"), try await issuer.es256(kid: "unknown"),
    ]
    for algorithm in ["none", "None", "NONE", "", "HS256", "ES256", "RS256"] {
      tokens.append(try await issuer.unsigned(algorithm))
    }
    // The signature of one key with the content of the other's token.
    let es256 = try await issuer.es256().split(separator: ".")
    let hs256 = try await issuer.hs256().split(separator: ".")
    tokens.append("\(hs256[0]).\(es256[1]).\(es256[2])")
    tokens.append("\(es256[0]).\(hs256[1]).\(hs256[2])")
    let final = tokens
    try await server().run { call async throws in
      for (index, token) in final.enumerated() {
        let reply = try await call.with(token: token)(.get, Self.address)
        #expect(reply.status == 401, "token \(index)")
      }
    }
    try await server(withSecret: false).run { call async throws in
      for token in final + [try await issuer.hs256()] {
        #expect(try await call.with(token: token)(.get, Self.address).status == 401)
      }
    }
  }

  @Test("A valid signature under the name of another algorithm is refused")
  func mislabelled() async throws {
    let right = [
      try await issuer.es256(header: ["kid": "pair", "alg": "ES256"]),
      try await issuer.hs256(header: ["alg": "HS256"]),
    ]
    let wrong = [
      try await issuer.es256(header: ["kid": "pair", "alg": "HS256"]),
      try await issuer.es256(header: ["alg": "HS256"]), try await issuer.hs256(header: ["alg": "ES256"]),
    ]
    try await server().run { call async throws in
      for (tokens, status) in [(right, 200), (wrong, 401)] {
        for (index, token) in tokens.enumerated() {
          let reply = try await call.with(token: token)(.get, Self.address)
          #expect(reply.status == status, "token \(index) of \(status)")
        }
      }
    }
  }

  @Test("A token that needs an extension is refused, even with a valid signature")
  func extensions() async throws {
    let plain = try await issuer.es256(header: ["kid": "pair"])
    let tokens = [
      try await issuer.es256(header: ["kid": "pair", "crit": ["exp"]]),
      try await issuer.hs256(header: ["crit": ["exp"]]), try await issuer.hs256(header: ["crit": []]),
      try await issuer.es256(header: ["kid": "pair", "b64": true]),
      try await issuer.es256(header: ["kid": "pair", "b64": true, "crit": ["b64"]]),
    ]
    try await server().run { call async throws in
      #expect(try await call.with(token: plain)(.get, Self.address).status == 200)
      for (index, token) in tokens.enumerated() {
        let reply = try await call.with(token: token)(.get, Self.address)
        #expect(reply.status == 401, "token \(index)")
      }
    }
  }

  @Test("A token holds from nbf to exp with a small leeway, without exp never")
  func time() async throws {
    let clock = ClockUnderTest()
    var configured = try await server(JWTRules(leeway: .seconds(10)))
    configured.configuration.now = { clock.now }
    let token = try await issuer.es256(Claims(exp: 1000, nbf: 500))
    let endless = try await issuer.es256(Claims(exp: nil))
    let absurd = try await issuer.es256(Claims(exp: 1e30))
    try await configured.run { call async throws in
      let ann = call.with(token: token)
      for (second, status) in [(489, 401), (491, 200), (999, 200), (1009, 200), (1010, 401), (9999, 401)] {
        clock.now = Int64(second) * 1000
        #expect(try await ann(.get, Self.address).status == status, "at \(second)")
      }
      let late = try await ann(.get, Self.address)
      #expect(late.text.contains("has ended"))
      #expect(late.headers[.wwwAuthenticate]?.contains("invalid_token") == true)
      clock.now = 600_000
      #expect(try await call.with(token: endless)(.get, Self.address).status == 401)
      #expect(try await call.with(token: absurd)(.get, Self.address).status == 401)
    }
    #expect(JWTRules(leeway: .seconds(86_400)).leeway == .seconds(300))
  }

  @Test("A token needs the expected issuer and audience")
  func issuers() async throws {
    let rules = JWTRules(issuer: "https://id.example.org", audience: "bothy")
    let right = try await issuer.es256(Claims(iss: "https://id.example.org", aud: ["other", "bothy"]))
    let wrong = [
      try await issuer.es256(), try await issuer.es256(Claims(iss: "https://id.example.org")),
      try await issuer.es256(Claims(aud: ["bothy"])),
      try await issuer.es256(Claims(iss: "https://id.example.org/", aud: ["bothy"])),
      try await issuer.es256(Claims(iss: "https://id.example.org", aud: ["bothy2"])),
    ]
    try await server(rules).run { call async throws in
      #expect(try await call.with(token: right)(.get, Self.address).status == 200)
      for token in wrong { #expect(try await call.with(token: token)(.get, Self.address).status == 401) }
    }
  }

  @Test("Claims have their configured names, and a user can't pose as a group")
  func claims() async throws {
    let rules = JWTRules(groupsClaim: "realm.roles", spacesClaim: "realm.spaces")
    let realm = ["roles": ["staff"], "spaces": ["hut"]]
    let right = try await issuer.es256(Claims(spaces: nil, realm: realm))
    let none = try await issuer.es256(Claims(spaces: ["hut"]))
    let wrong = [
      try await issuer.es256(Claims(sub: "group:staff", realm: realm)),
      try await issuer.es256(Claims(sub: "group:\u{308}staff", realm: realm)),
      try await issuer.es256(Claims(sub: "", realm: realm)),
      try await issuer.es256(Claims(sub: nil, realm: realm)),
      try await issuer.es256(Claims(realm: ["roles": [""], "spaces": ["hut"]])),
    ]
    try await server(rules).run { call async throws in
      #expect(try await call.with(token: right)(.get, Self.address).status == 200)
      #expect(try await call.with(token: none)(.get, Self.address).status == 403)
      for token in wrong { #expect(try await call.with(token: token)(.get, Self.address).status == 401) }
    }
  }

  @Test("Text that isn't a token is 401 in every form")
  func malformed() async throws {
    let whole = try await issuer.es256()
    let parts = whole.split(separator: ".")
    let tokens = [
      "..", "a.b.c", "\(parts[0]).\(parts[1])", whole + ".x", "\(parts[0]).\(parts[1]).!!!!",
      "\(parts[0]).\(parts[1]).", "\(IssuerUnderTest.encoded("[]")).\(parts[1]).\(parts[2])",
      whole.replacing(".", with: "=."),
      String(repeating: "a", count: 9000) + "." + String(repeating: "b", count: 9000) + ".c",
    ]
    try await server().run { call async throws in
      for token in tokens {
        #expect(try await call.with(token: token)(.get, Self.address).status == 401, "\(token.prefix(40))")
      }
    }
  }

  @Test("The server refuses keys that protect nothing")
  func keys() async throws {
    for secret in ["", "short", issuer.key.publicKey.pemRepresentation] {
      await #expect(throws: BothyError.self) {
        var keys = JWTKeys()
        try await keys.addSecret(Array(secret.utf8))
      }
    }
    for text in [
      "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "[", "plain",
      #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, #"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#,
      #"{"keys":[{"kty":"oct","alg":"HS512","k":"YSBzaGFyZWQgc2VjcmV0IG9mIG1vcmUgdGhhbiAzMiBieXRlcw"}]}"#,
      issuer.keySet.replacing(#""use":"sig""#, with: #""use":"enc""#),
    ] {
      await #expect(throws: (any Error).self, "\(text)") {
        var keys = JWTKeys()
        try await keys.addKeys(Array(text.utf8))
      }
    }
    var keys = JWTKeys()
    try await keys.addKeys(Array(issuer.key.publicKey.pemRepresentation.utf8))
    try await keys.addKeys(Array(issuer.keySet.utf8))
    #expect(keys.skipped == 1)
  }
}

/// A clock that a test sets, in milliseconds.
final class ClockUnderTest: Sendable {
  private let time = Locked(Int64(1000))

  var now: Int64 {
    get { time.value }
    set { time.value = newValue }
  }
}
