import BothyServer
import BothyStore
import BothySync
import Testing

@Suite("Webhooks: names, addresses, secrets and patterns", .timeLimit(.minutes(5)))
struct WebhookTests {
  static let secret = String(repeating: "s", count: 24)

  private func webhook(
    _ name: String = "h", _ url: String = "https://example.org/x", secret: String = Self.secret,
    spaces: [String] = [], allowsHTTP: Bool = false
  ) throws -> Webhook {
    try Webhook(name: name, url: url, secret: secret, spaces: spaces, allowsHTTP: allowsHTTP)
  }

  /// Promises: A-26
  @Test("A delivery is signed as Standard Webhooks says")
  func signature() throws {
    let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"
    let keys = try RequestSignature.keys(Array(text.utf8), of: "h")
    let body = Array(#"{"test": 2432232314}"#.utf8)
    let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    let field = RequestSignature.field(id: id, time: 1_614_265_330, body: body, keys: keys)
    #expect(field == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test("Each line of a secret's file signs")
  func rotation() throws {
    let two = try RequestSignature.keys(Array("\(Self.secret)1\r\n\(Self.secret)2\n".utf8), of: "h")
    #expect(two == ["1", "2"].map { Array((Self.secret + $0).utf8) })
    let field = RequestSignature.field(id: "i", time: 1, body: [], keys: two)
    #expect(field.split(separator: " ").count == 2)
  }

  @Test(
    "Weak secrets are refused",
    arguments: ["", "\n", "short", "whsec_c2hvcnQ=", "whsec_***", "\(secret)\nweak"])
  func weak(secret: String) {
    #expect(throws: BothyError.self) { try webhook(secret: secret) }
  }

  /// Promises: A-26
  @Test("Addresses need TLS, except on this machine or on purpose")
  func addresses() throws {
    for url in ["http://example.org/", "ftp://x", "https://a b", "http://localhost.example.org", ""] {
      #expect(throws: BothyError.self, "\(url)") { try webhook("h", url) }
    }
    for url in ["http://localhost:8080/x", "http://127.0.0.1", "http://[::1]:1/", "https://example.org"] {
      #expect(try webhook("h", url).url == url)
    }
    #expect(try webhook("h", "http://hook.internal/x", allowsHTTP: true).name == "h")
    for name in ["", "a b", "ä", String(repeating: "x", count: 65)] {
      #expect(throws: BothyError.self, "\(name)") { try webhook(name) }
    }
  }

  @Test("Patterns select spaces by their names")
  func patterns() throws {
    let all = try webhook()
    #expect(all.receives(space: "any"))
    let some = try webhook(spaces: ["home", "team-*", "*-x-*", "a*b*a"])
    for name in ["home", "team-", "team-7", "team-\u{308}a", "1-x-2", "-x-", "aba", "a1b2a"] {
      #expect(some.receives(space: name), "\(name)")
    }
    for name in ["homes", "team", "Xteam-1", "x", "1-x2", "ab", "aa", ""] {
      #expect(!some.receives(space: name), "\(name)")
    }
    #expect(try webhook(spaces: ["*"]).receives(space: "any"))
  }

  @Test("A file names several webhooks, each with a secret of its own")
  func file() throws {
    let json = #"""
      [{"name":"a","url":"https://a.example.org","secret":"a.secret","types":["T"],"spaces":["x*"]},
       {"name":"b","url":"http://b.internal","secret":"b.secret","allowHTTP":true}]
      """#
    let file = try WebhookFile(json: json) { Array((Self.secret + $0).utf8) }
    #expect(file.webhooks.map(\.name) == ["a", "b"])
    #expect(file.webhooks[0].types == ["T"] && file.webhooks[0].receives(space: "x1"))
    #expect(!file.webhooks[0].receives(space: "y"))
    let wrong = [
      #"[{"name":"a","url":"https://a.org"}]"#, #"[{"name":"a","url":"https://a.org","secret":"s","odd":1}]"#,
      #"{}"#,
    ]
    for text in wrong {
      #expect(throws: JSONError.self, "\(text)") {
        try WebhookFile(json: text) { Array((Self.secret + $0).utf8) }
      }
    }
    let twice =
      #"[{"name":"a","url":"https://a.org","secret":"s"},{"name":"a","url":"https://b.org","secret":"s"}]"#
    #expect(throws: BothyError.self) { try WebhookFile(json: twice) { _ in Array(Self.secret.utf8) } }
  }
}
