import BothyCache
import Foundation
import HTTPTypes
import Testing

@Suite("Redirects", .timeLimit(.minutes(5)))
struct RedirectTests {
  private func bench(_ targets: [String: String], status: Int = 302) -> FetchBench {
    FetchBench { request, _ in
      targets[request.url].map { .redirect($0, status) } ?? .init(200, "tile of \(request.url)")
    }
  }

  /// Promises: E-26
  @Test(
    "Redirects of every kind are followed, even to another host",
    arguments: [301, 302, 303, 307, 308])
  func followed(status: Int) async throws {
    let bench = bench(["https://tiles.example/1": "https://cdn.example/a/1"], status: status)
    let answer = try await bench.fetch(FetchBench.order("https://tiles.example/1"))
    #expect(answer.body == Data("tile of https://cdn.example/a/1".utf8))
    #expect(answer.url == "https://cdn.example/a/1")
    #expect(answer.requests == 2)
  }

  @Test("Addresses in redirects may be relative, and their fragment is not sent")
  func relative() async throws {
    let bench = bench([
      "https://tiles.example/a/b?x=1": "../c/d?y=2#part", "https://tiles.example/c/d?y=2": "//cdn.example/e",
    ])
    #expect(
      try await bench.fetch(FetchBench.order("https://tiles.example/a/b?x=1")).url == "https://cdn.example/e")
  }

  /// Promises: E-26
  @Test("Redirects from https to http, to other schemes, to nowhere or in circles fail")
  func refused() async throws {
    for target in ["http://tiles.example/2", "file:///etc/passwd", "https://", "https://tiles.example/1"] {
      let bench = bench(["https://tiles.example/1": target])
      #expect(
        await bench.failure(FetchBench.order("https://tiles.example/1")) == .redirectRefused, "\(target)")
      #expect(bench.loader.requests.count == (target == "https://tiles.example/1" ? 11 : 1))
    }
    let plain = bench(["http://tiles.example/1": "https://tiles.example/2"])
    #expect(try await plain.fetch(FetchBench.order("http://tiles.example/1")).status == 200, "up is allowed")
  }

  /// Promises: E-26
  @Test("Secrets are sent only to the first host, even after a redirect back")
  func secrets() async throws {
    let key = try #require(HTTPField.Name("X-Key"))
    let bench = bench([
      "https://a.example/1": "https://a.example/2", "https://a.example/2": "https://b.example/3",
      "https://b.example/3": "https://a.example/4",
    ])
    _ = try await bench.fetch(
      FetchBench.order("https://a.example/1") {
        $0.fields[.authorization] = "Bearer s"
        $0.fields[.cookie] = "c=1"
        $0.fields[key] = "k"
        $0.secretFields = [key]
      })
    let secret = bench.loader.requests.map { request in
      [.authorization, .cookie, key].filter { request.fields[$0] != nil }.count
    }
    #expect(secret == [3, 3, 0, 0])
    #expect(bench.loader.requests.allSatisfy { $0.fields[.userAgent] != nil })
  }

  @Test("Orders without redirects and unsafe requests receive the redirect itself")
  func delivered() async throws {
    let bench = bench(["https://tiles.example/1": "https://cdn.example/a/1"])
    let plain = FetchBench.order("https://tiles.example/1") { $0.followsRedirects = false }
    #expect(try await bench.fetch(plain).fields[.location] == "https://cdn.example/a/1")
    #expect(
      try await bench.fetch(FetchBench.order("https://tiles.example/1") { $0.method = .delete }).status == 302
    )
  }
}
