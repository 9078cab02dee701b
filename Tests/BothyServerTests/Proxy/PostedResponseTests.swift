import BothyCache
import BothyServer
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Responses to POST in a proxy", .timeLimit(.minutes(5)))
struct PostedResponseTests {
  private let fields: HTTPFields = [
    .cacheControl: "max-age=3600", .contentLocation: "/a", .contentLength: "3", .contentType: "text/x",
  ]

  /// Posts to a path, reads it by GET, and returns the text of both responses.
  private func read(
    _ answer: HTTPFields, _ request: HTTPFields = [:], isPrivate: Bool = false, body: String = "new"
  ) async throws -> [String] {
    let proxy = try ProxyUnderTest(isPrivate: isPrivate)
    proxy.origin.answers(200, answer, body)
    proxy.origin.answers(200, [.cacheControl: "max-age=3600"], "got")
    var sent = request
    sent[.contentType] = "text/x"
    let posted = try await proxy.send(.post, "/a", sent, body: "12345")
    return [posted.text, try await proxy.get("/a").text]
  }

  @Test("A response to POST that is its address's content answers later reads", arguments: [true, false])
  func stored(isPrivate: Bool) async throws {
    #expect(try await read(fields, isPrivate: isPrivate) == ["new", "new"])
    var whole = fields
    whole[.contentLocation] = "http://origin.example/a"
    #expect(try await read(whole, isPrivate: isPrivate) == ["new", "new"])
  }

  @Test("Other responses to POST pass through and answer no read")
  func passed() async throws {
    let changes: [(HTTPField.Name, String?)] = [
      (.contentLocation, "/b"), (.contentLocation, nil), (.contentLocation, "http://other.example/a"),
      (.cacheControl, nil), (.cacheControl, "no-store, max-age=60"), (.cacheControl, "private, max-age=60"),
      (.vary, "Accept"), (.setCookie, "a=b"), (.contentLength, nil),
    ]
    for (name, value) in changes {
      var changed = fields
      changed[name] = value
      #expect(try await read(changed) == ["new", "got"], "\(name): \(value ?? "")")
    }
    #expect(try await read(fields, [.authorization: "Bearer x"]) == ["new", "got"])
    #expect(try await read(fields, [.cacheControl: "no-store"]) == ["new", "got"])
  }

  @Test("A response to POST that broke off isn't stored")
  func cut() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, fields, "ne")
    proxy.origin.answers(200, [.cacheControl: "max-age=3600"], "got")
    #expect(try await proxy.send(.post, "/a", [.contentType: "text/x"], body: "12345").status == 502)
    #expect(try await proxy.get("/a").text == "got")
  }

  @Test("A response to POST is read no further than its stated length")
  func endless() async throws {
    let proxy = try ProxyUnderTest()
    let pieces = Calls()
    let endless = AsyncThrowingStream<Data, any Error>(unfolding: {
      pieces.add() <= 10_000 ? Data("more".utf8) : nil
    })
    proxy.origin.answers(200, fields, endless)
    proxy.origin.answers(200, [.cacheControl: "max-age=3600"], "got")
    #expect(try await proxy.send(.post, "/a", [.contentType: "text/x"], body: "12345").status == 502)
    #expect(pieces.count == 1)
    #expect(try await proxy.get("/a").text == "got")
  }

  @Test("A later response to POST replaces the stored one")
  func replaced() async throws {
    let proxy = try ProxyUnderTest()
    for body in ["old", "new"] {
      proxy.origin.answers(200, fields, body)
      _ = try await proxy.send(.post, "/a", [.contentType: "text/x"], body: "12345")
      #expect(try await proxy.get("/a").text == body)
    }
    #expect(proxy.origin.requests.count == 2)
  }
}
