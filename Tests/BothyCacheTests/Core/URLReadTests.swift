import BothyCache
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Downloads by their URLs", .timeLimit(.minutes(5)))
struct URLReadTests {
  struct Menu: Codable, Sendable, Equatable { var dish: String }

  private let url = URL(string: "https://api.example/menu?day=1")

  private func rig(_ bodies: [String]) throws -> CacheRig {
    let calls = Locked(0)
    return try CacheRig { _ in
      let number = calls.change { calls in
        calls += 1
        return calls
      }
      return .init(
        200, fields: [.contentType: "application/json"],
        #"{"dish":"\#(bodies[min(number, bodies.count) - 1])"}"#)
    }
  }

  @Test("A value is read by its URL, and served from the cache while fresh")
  func value() async throws {
    let url = try #require(url)
    let rig = try rig(["soup", "pie"])
    #expect(try await rig.cache.value(Menu.self, at: url, maxAge: .seconds(60)) == Menu(dish: "soup"))
    #expect(try await rig.cache.data(at: url, policy: .local) == Data(#"{"dish":"soup"}"#.utf8))
    #expect(try await rig.cache.value(Menu.self, at: url, maxAge: .seconds(60)).dish == "soup")
    #expect(rig.loader.requests.count == 1)
    rig.pass(.seconds(61))
    #expect(try await rig.cache.value(Menu.self, at: url, maxAge: .seconds(60)).dish == "pie")
    #expect(rig.loader.requests.count == 2)
  }

  @Test("A URL of a registered source has the key and rule of that source")
  func registered() async throws {
    let url = try #require(url)
    let rig = try rig(["soup"])
    let source = try ResourceSource(
      "api", template: "https://api.example", userAgent: "Tests/1 (tests.example)")
    try rig.cache.register(source)
    _ = try await rig.cache.data(at: url)
    #expect(rig.cache.peek(try source.key(path: "menu?day=1")) != nil)
    #expect(!rig.cache.sources.contains { $0.id == "any-address" })
  }

  @Test("URLs that an app reads get no secrets of a source of any address")
  func anyAddress() async throws {
    let url = try #require(url)
    let other = try #require(URL(string: "https://other.example/menu"))
    let rig = try rig(["soup"])
    try rig.cache.register(
      try ResourceSource(
        "a-style", address: .anywhere, headers: [.authorization: "Bearer secret"],
        userAgent: "Tests/1 (tests.example)", secrets: ["key": "secret"]))
    let source = try ResourceSource(
      "api", template: "https://api.example", userAgent: "Tests/1 (tests.example)")
    try rig.cache.register(source)
    _ = try await rig.cache.data(at: url)
    _ = try await rig.cache.data(at: other)
    #expect(rig.loader.requests.map(\.url) == [url.absoluteString, other.absoluteString])
    #expect(rig.loader.requests.allSatisfy { $0.fields[.authorization] == nil })
    #expect(rig.cache.peek(try source.key(path: "menu?day=1")) != nil)
  }

  @Test("Values at a URL are the stored one, then the newer one")
  func values() async throws {
    let url = try #require(url)
    let rig = try rig(["soup", "pie"])
    _ = try await rig.cache.data(at: url, maxAge: .seconds(1))
    rig.pass(.seconds(100_000))
    var dishes: [String] = []
    for try await menu in rig.cache.values(Menu.self, at: url) {
      dishes.append(menu.dish)
      if menu.dish == "pie" { break }
    }
    #expect(dishes == ["soup", "pie"])
  }

  @Test("Values at a URL outlive a failed refresh, but not a first failure")
  func failedRefresh() async throws {
    let url = try #require(url)
    let number = Locked(0)
    let rig = try CacheRig { _ in
      number.change { $0 += 1 }
      switch number.value {
      case 2, 4: return .init(403)
      case let dish: return .init(200, fields: [.contentType: "application/json"], #"{"dish":"\#(dish)"}"#)
      }
    }
    _ = try await rig.cache.data(at: url, maxAge: .seconds(1))
    rig.pass(.seconds(100_000))
    var dishes: [String] = []
    for try await menu in rig.cache.values(Menu.self, at: url) {
      dishes.append(menu.dish)
      if menu.dish == "3" { break }
      try await until { rig.cache.counters["any-address"]?.failed == 1 }
      // A read may still join the request that has failed.
      while (try? await rig.cache.data(at: url, policy: .remote)) == nil {}
    }
    #expect(dishes == ["1", "3"])
    try await rig.cache.remove(url)
    await #expect(throws: BothyError.self) {
      for try await _ in rig.cache.values(Menu.self, at: url) { Issue.record("Nothing is stored.") }
    }
  }

  @Test("A removed URL is downloaded again, and a file URL is refused")
  func removed() async throws {
    let url = try #require(url)
    let rig = try rig(["soup", "pie"])
    _ = try await rig.cache.data(at: url)
    try await rig.cache.remove(url)
    #expect(try await rig.cache.value(Menu.self, at: url).dish == "pie")
    let folder = URL(fileURLWithPath: "/tmp/menu.json")
    await #expect(throws: BothyError.self) { try await rig.cache.data(at: folder) }
  }

  @Test("A negative age is rejected for bytes and for values")
  func negativeAge() async throws {
    let rig = try CacheRig()
    let url = try #require(URL(string: "https://huts.example/list.json"))
    await #expect { try await rig.cache.data(at: url, maxAge: .seconds(-1)) } throws: {
      ($0 as? BothyError)?.code == .invalidConfiguration
    }
    await #expect { try await rig.cache.value([String].self, at: url, maxAge: .seconds(-1)) } throws: {
      ($0 as? BothyError)?.code == .invalidConfiguration
    }
    #expect(rig.loader.requests.isEmpty)
  }
}
