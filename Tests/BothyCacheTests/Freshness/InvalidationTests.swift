import BothyCache
import HTTPTypes
import Testing

@Suite("Requests that change things", .timeLimit(.minutes(5)))
struct InvalidationTests {
  private let url = "https://example.org:443/a/b?c=1"

  private func targets(
    _ method: String, _ status: Int = 200, _ fields: KeyValuePairs<String, String> = [:]
  ) throws -> [String] {
    Invalidation.targets(
      method: try #require(HTTPRequest.Method(method)), url: url, status: status, fields: .of(fields))
  }

  @Test("Only a successful change invalidates its address")
  func own() throws {
    for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
      #expect(try targets(method) == [url])
      #expect(try targets(method, 303) == [url])
      for status in [400, 404, 500, 503] { #expect(try targets(method, status).isEmpty) }
    }
    for method in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(try targets(method).isEmpty) }
  }

  @Test("A change also invalidates addresses in its response, within its origin only")
  func named() throws {
    #expect(
      try targets("POST", 201, ["Location": "new", "Content-Location": "https://EXAMPLE.org/a/x"])
        == [url, "https://example.org:443/a/new", "https://EXAMPLE.org/a/x"])
    for foreign in ["https://other.org/a", "http://example.org/a", "https://example.org:8443/a", "//evil/a"] {
      #expect(try targets("POST", 201, ["Location": foreign]) == [url])
    }
  }
}
