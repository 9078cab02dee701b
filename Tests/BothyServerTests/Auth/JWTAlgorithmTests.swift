import BothyServer
import BothyStore
import HTTPTypes
import JWTKit
import Testing

@Suite("Algorithms and spaces of JSON Web Tokens", .timeLimit(.minutes(5)))
struct JWTAlgorithmTests {
  private static let algorithms = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES384", "ES512", "EdDSA",
  ]
  private static let address = "/v1/spaces/hut/changes"

  private func server(_ text: String, _ rules: JWTRules = JWTRules()) async throws -> ServerUnderTest {
    var keys = JWTKeys()
    try await keys.addKeys(Array(text.utf8))
    var server = try ServerUnderTest()
    server.configuration.access = Authentication(jwt: keys, rules: rules)
    return server
  }

  @Test("A key of a set verifies its own algorithm alone", arguments: algorithms)
  func sets(algorithm: String) async throws {
    let keys = try KeysUnderTest()
    let set = try #"{"keys":[\#(keys.member(algorithm, kid: "k"))]}"#
    try await server(set).run { call async throws in
      for other in Self.algorithms {
        let token = try await keys.token(other, kid: "k")
        let status = try await call.with(token: token)(.get, Self.address).status
        #expect(status == (other == algorithm ? 200 : 401), "\(other) with a key of \(algorithm)")
      }
    }
  }

  @Test("An RSA key without a named algorithm verifies every algorithm of RSA")
  func unnamed() async throws {
    let keys = try KeysUnderTest()
    let member = try keys.member("RS256", kid: "k").replacing(#""alg":"RS256","#, with: "")
    try await server(#"{"keys":[\#(member)]}"#).run { call async throws in
      for algorithm in Self.algorithms {
        let token = try await keys.token(algorithm, kid: "k")
        let status = try await call.with(token: token)(.get, Self.address).status
        #expect(status == (["RS", "PS"].contains(algorithm.prefix(2)) ? 200 : 401), "\(algorithm)")
      }
    }
  }

  @Test("EdDSA may be called Ed25519, by tokens and by keys", arguments: ["EdDSA", "Ed25519"])
  func names(name: String) async throws {
    let keys = try KeysUnderTest()
    let set = try #"{"keys":[\#(keys.member(name, kid: "k"))]}"#
    try await server(set).run { call async throws in
      for other in ["EdDSA", "Ed25519"] {
        let token = try await keys.token(other, kid: "k")
        #expect(try await call.with(token: token)(.get, Self.address).status == 200, "\(other)")
      }
    }
  }

  @Test("A PEM public key verifies the algorithm of its kind")
  func pem() async throws {
    let keys = try KeysUnderTest()
    for (text, algorithm) in [
      (keys.rsa.publicKey.pemRepresentation, "RS256"), (keys.es384.publicKey.pemRepresentation, "ES384"),
      (keys.es512.publicKey.pemRepresentation, "ES512"), (keys.edDSA.publicKey.pemRepresentation, "EdDSA"),
    ] {
      try await server(text).run { call async throws in
        for other in Self.algorithms {
          let status = try await call.with(token: keys.token(other))(.get, Self.address).status
          #expect(status == (other == algorithm ? 200 : 401), "\(other) with a key of \(algorithm)")
        }
      }
    }
  }

  @Test("A point of P-521 is refused on another curve or with other coordinates")
  func points() async throws {
    let keys = try KeysUnderTest()
    let member = try keys.member("ES512", kid: "k")
    try await server(#"{"keys":[\#(member)]}"#).run { call async throws in
      #expect(try await call.with(token: keys.token("ES512", kid: "k"))(.get, Self.address).status == 200)
    }
    for damaged in [
      member.replacing("P-521", with: "P-384"), member.replacing("P-521", with: "P-256"),
      member.replacing(#""x":""#, with: #""x":"AAAA"#), member.replacing(#""y":"#, with: #""z":"#),
    ] {
      var found = JWTKeys()
      await #expect(throws: BothyError.self, "\(damaged)") {
        try await found.addKeys(Array(#"{"keys":[\#(damaged)]}"#.utf8))
      }
    }
  }

  @Test("A key that is too small or damaged is skipped, and refused alone")
  func damaged() async throws {
    let keys = try KeysUnderTest()
    var small = JWTKeys()
    await #expect(throws: BothyError.self) { try await small.addKeys(Array(KeysUnderTest.smallText.utf8)) }
    let damaged = #"{"kty":"RSA","kid":"old","n":"AQAB","e":"AQAB"}"#
    let error = await #expect(throws: BothyError.self) {
      try await small.addKeys(Array(#"{"keys":[\#(damaged)]}"#.utf8))
    }
    #expect(error?.message.contains("'old'") == true)
    let set = try #"{"keys":[\#(damaged),\#(keys.member("RS256", kid: "k"))]}"#
    try await server(set).run { call async throws in
      #expect(try await call.with(token: keys.token("RS256", kid: "k"))(.get, Self.address).status == 200)
    }
  }

  @Test("Different claims never make one space of a template")
  func ambiguous() async throws {
    let issuer = IssuerUnderTest()
    let cases: [(template: String, sub: String, space: String, status: Int)] = [
      ("{sub}-{sub}", "a", "a-a", 200), ("{sub}-{sub}", "a-b", "a-b-a-b", 401),
      ("{sub}{sub}", "a", "aa", 401), ("{sub}/{sub}", "a-b", "a-b%2Fa-b", 200),
      ("{sub}-x", "a-b", "a-b-x", 200), ("{sub}-x", "a-\u{308}b", "a-%CC%88b-x", 200),
      ("{sub}-{sub}", "a-\u{308}b", "a-%CC%88b-a-%CC%88b", 401),
      ("x-{sub}", "a/\u{308}b", "x-a%2F%CC%88b", 401),
    ]
    for entry in cases {
      var rules = JWTRules()
      rules.spacesClaim = entry.template
      let server = try await server(issuer.keySet, rules)
      try await server.run { call async throws in
        let token = try await issuer.es256(.init(sub: entry.sub, spaces: ["*"]))
        let reply = try await call.with(token: token)(.get, "/v1/spaces/\(entry.space)/changes")
        #expect(reply.status == entry.status, "\(entry.template) with \(entry.sub)")
      }
    }
  }

  @Test("A template opens the spaces that the token's claims name, and no other")
  func template() async throws {
    let issuer = IssuerUnderTest()
    var rules = JWTRules()
    rules.spacesClaim = "user-{sub},team"
    let server = try await server(issuer.keySet, rules)
    try await server.run { call async throws in
      func status(_ sub: String?, _ space: String) async throws -> Int {
        let token = try await issuer.es256(.init(sub: sub, spaces: ["*"]))
        return try await call.with(token: token)(.get, "/v1/spaces/\(space)/changes").status
      }
      #expect(try await status("ann", "user-ann") == 200)
      #expect(try await status("ann", "team") == 200)
      for space in ["user-bob", "hut", "user-", "*"] {
        #expect(try await status("ann", space) == 403, "\(space)")
      }
      for sub in ["*", "a/b", "", nil] { #expect(try await status(sub, "team") == 401, "\(sub ?? "none")") }
    }
  }
}
