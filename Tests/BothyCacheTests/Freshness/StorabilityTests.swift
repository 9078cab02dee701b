import BothyCache
import HTTPTypes
import Testing

@Suite("Responses that may be stored", .timeLimit(.minutes(5)))
struct StorabilityTests {
  private func obstacle(
    _ status: Int = 200, _ control: String = "", method: HTTPRequest.Method = .get, request: String = "",
    rule: FreshnessRule = .http
  ) -> NotStoredReason? {
    Storability.obstacle(
      method: method, request: .of(["Cache-Control": request]), status: status,
      fields: .of(["Cache-Control": control]), rule: rule)
  }

  @Test("A no-store in request or response prevents storing, unless the source overrides it")
  func noStore() {
    #expect(obstacle(200, "No-StOrE, max-age=99") == .answerForbids)
    #expect(obstacle(200, "max-age=99", request: "no-store") == .requestForbids)
    #expect(obstacle(200, "no-store", rule: .fixed(.days(1))) == .answerForbids)
    var rule = FreshnessRule.fixed(.days(1))
    rule.ignoresNoStore = true
    #expect(obstacle(200, "no-store", rule: rule) == nil)
    #expect(obstacle(200, "no-store", request: "no-store", rule: rule) == .requestForbids)
  }

  @Test("With must-understand, no-store counts only for unknown statuses")
  func mustUnderstand() {
    #expect(obstacle(200, "no-store, must-understand, max-age=9") == nil)
    var proxy = FreshnessRule.http
    proxy.keepsEveryStatus = true
    #expect(obstacle(599, "no-store, must-understand, max-age=9", rule: proxy) == .answerForbids)
    #expect(obstacle(599, "max-age=9", rule: proxy) == nil)
  }

  @Test("Private responses and those to requests with credentials are stored")
  func privateCache() {
    #expect(obstacle(200, "private, max-age=9") == nil)
    #expect(
      Storability.obstacle(
        method: .get, request: .of(["Authorization": "x"]), status: 200, fields: [:], rule: .http) == nil)
  }

  @Test("Only responses to GET are stored", arguments: ["HEAD", "POST", "PUT", "PROPFIND"])
  func methods(name: String) throws {
    #expect(obstacle(200, "max-age=9", method: try #require(HTTPRequest.Method(name))) == .method)
  }

  @Test("A part is never stored as the whole, in any policy")
  func parts() {
    var proxy = FreshnessRule.http
    proxy.keepsEveryStatus = true
    for rule in [FreshnessRule.http, proxy, .fixed(.days(1)), .immutable] {
      #expect(obstacle(206, "max-age=99", rule: rule) == .incomplete)
      #expect(obstacle(304, "max-age=99", rule: rule) == .incomplete)
    }
  }

  @Test("Only a proxy stores errors and redirects, where fields or status allow it")
  func everyStatus() {
    var proxy = FreshnessRule.http
    proxy.keepsEveryStatus = true
    for status in [299, 301, 302, 303, 307, 308, 400, 499, 500, 502, 503, 504, 599] {
      #expect(obstacle(status, "max-age=9", rule: proxy) == nil)
      #expect(obstacle(status, "max-age=9") == .status(status))
    }
    for status in [201, 202, 302, 403, 502, 503, 599] {
      #expect(obstacle(status, rule: proxy) == .status(status))
    }
    #expect(obstacle(100, "max-age=9", rule: proxy) == .status(100))
  }

  @Test("Fields of the connection are not stored, whether listed or known")
  func connection() {
    let kept = Storability.storable(
      .of([
        "Connection": "a, B", "A": "1", "b": "2", "c": "3", "Keep-Alive": "x", "Proxy-Authenticate": "x",
        "Proxy-Authentication-Info": "x", "Proxy-Authorization": "x", "Proxy-Connection": "x", "TE": "x",
        "Transfer-Encoding": "x", "Upgrade": "x", "Set-Cookie": "d=1",
      ]))
    #expect(kept == .of(["c": "3", "Set-Cookie": "d=1"]))
  }

  /// Promises: E-27
  @Test(
    "A content coding that no loader has undone stays, and so does the tag",
    arguments: ["br", "zstd", "secret"])
  func codings(_ coding: String) {
    let fields = HTTPFields.of(["Content-Encoding": coding, "Content-Length": "10", "ETag": "W/\"a\""])
    #expect(Storability.storable(fields) == fields)
  }
}
