import BothyInspector
import BothyStore
import BothySync
import HTTPTypes
import Hummingbird
import Testing

@Suite("The inspector's access control", .timeLimit(.minutes(5)))
struct DoorTests {
  @Test("The printed address works once, for a cookie hidden from scripts and sites")
  func token() async throws {
    let device = try InspectedDevice()
    let address = device.front.address
    #expect(address.hasPrefix("http://127.0.0.1:7000/?token="))
    let target = try #require(address.split(separator: "/").last.map { "/" + $0 })
    let first = await device.front.answer(HTTPRequest(.get, target, host: Visitor.host))
    #expect(first.status == .ok)
    let cookie = try #require(first.headers[.setCookie])
    #expect(
      cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict")
        && cookie.hasPrefix("bothy-inspector-7000="))
    #expect(!device.front.address.contains("token"))
    let again = await device.front.answer(HTTPRequest(.get, target, host: Visitor.host))
    #expect(again.status == .unauthorized && again.headers[.setCookie] == nil)
    #expect(again.text.contains("Run `bothy inspect` again"))
    let visitor = Visitor(device.front.answer, cookie: cookie.split(separator: ";").first.map(String.init))
    #expect(await visitor.get("/").status == .ok)
    #expect(await visitor.get(target).text.contains("<main"))
  }

  @Test("A wrong token opens nothing, and the right one stays valid")
  func wrongToken() async throws {
    let device = try InspectedDevice()
    for token in ["", "0", String(repeating: "0", count: 64)] {
      let answer = await device.front.answer(HTTPRequest(.get, "/?token=" + token, host: Visitor.host))
      #expect(answer.status == .unauthorized)
    }
    #expect(try await device.visitor().get("/").status == .ok)
  }

  @Test("Without the cookie no page, script, data or event is sent")
  func closed() async throws {
    let device = try InspectedDevice()
    _ = try await device.visitor()
    for cookie in [nil, "bothy-inspector-7000=", "bothy-inspector-7000=" + String(repeating: "0", count: 64)]
    {
      let stranger = Visitor(device.front.answer, cookie: cookie)
      for target in ["/", "/assets/app.js", "/api/overview", "/events", "/nothing"] {
        #expect(await stranger.get(target).status == .unauthorized)
      }
      #expect(await stranger.post("/api/resolve").status == .unauthorized)
    }
  }

  @Test(
    "Every other host name is refused, so that no web name reaches the inspector",
    arguments: [
      "bothy.example", "bothy.example:7000", "127.0.0.1", "127.0.0.1:7001", "127.0.0.1.example:7000", nil,
    ])
  func rebinding(_ host: String?) async throws {
    let device = try InspectedDevice()
    let token = try #require(device.front.address.split(separator: "?").last)
    let before = await device.front.answer(HTTPRequest(.get, "/?\(token)", host: host))
    #expect(before.status == .misdirectedRequest && before.headers[.setCookie] == nil)
    let visitor = try await device.visitor()
    var headers: HTTPFields = [:]
    headers[.cookie] = visitor.cookie
    let after = await device.front.answer(HTTPRequest(.get, "/api/overview", headers: headers, host: host))
    #expect(after.status == .misdirectedRequest)
  }

  @Test("Only the page's own scripts can make changes")
  func changes() async throws {
    let device = try InspectedDevice()
    let visitor = try await device.visitor()
    let name = try #require(HTTPField.Name("X-Bothy-Inspector"))
    let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
    let refused: [(inout HTTPFields) -> Void] = [
      { $0[.origin] = nil }, { $0[.origin] = "http://evil.example" }, { $0[.origin] = "null" },
      { $0[.origin] = "https://127.0.0.1:7000" }, { $0[.origin] = "http://localhost:7000" },
      { $0[name] = nil },
      { $0[site] = "same-site" }, { $0[site] = "cross-site" },
    ]
    for change in refused { #expect(await visitor.post("/api/pause", "{}", change).status == .forbidden) }
    #expect(!device.store.isPaused)
    #expect(await visitor.post("/api/pause").status == .ok)
    #expect(device.store.isPaused)
    #expect(await visitor.get("/api/overview", [site: "cross-site"]).status == .forbidden)
    #expect(await visitor.get("/api/pause").status == .notFound)
  }

  @Test("Other methods and large bodies are refused, and HEAD has no body")
  func limits() async throws {
    let visitor = try await InspectedDevice().visitor()
    let name = try #require(HTTPField.Name("X-Bothy-Inspector"))
    let own: HTTPFields = [.origin: "http://" + Visitor.host, name: "1"]
    for method in [HTTPRequest.Method.put, .delete, .patch] {
      let reply = await visitor.send(method, "/api/overview", own)
      #expect(reply.status == .methodNotAllowed && reply.text.contains("changed with POST"))
    }
    let large = await visitor.post("/api/resolve", String(repeating: " ", count: 1 << 16) + "{}")
    #expect(large.status == .contentTooLarge)
    for target in ["/", "/assets/app.js", "/api/nothing"] {
      let (head, whole) = (await visitor.send(.head, target), await visitor.get(target))
      #expect(head.text.isEmpty && head.status == whole.status, "\(target)")
      #expect(head.headers[.contentLength] == String(whole.text.utf8.count), "\(target)")
    }
  }

  @Test("In a group of another router, the page guards its own routes alone")
  func group() async throws {
    let device = try InspectedDevice()
    let router = Router()
    router.get("/other") { _, _ in "open" }
    device.front.add(to: router.group())
    #expect(await router.reply(to: HTTPRequest(.get, "/other", host: "bothy.example")).text == "open")
    for target in ["/", "/api/overview", "/assets/app.js"] {
      let foreign = await router.reply(to: HTTPRequest(.get, target, host: "bothy.example"))
      #expect(foreign.status == .misdirectedRequest, "\(target)")
      let stranger = await router.reply(to: HTTPRequest(.get, target, host: Visitor.host))
      #expect(stranger.status == .unauthorized, "\(target)")
    }
  }

  @Test("Another local page can open the page by a link, and nothing else")
  func links() async throws {
    let device = try InspectedDevice()
    defer { withExtendedLifetime(device) {} }
    let visitor = try await device.visitor()
    let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
    let destination = try #require(HTTPField.Name("Sec-Fetch-Dest"))
    #expect(await visitor.get("/", [site: "same-site", destination: "document"]).status == .ok)
    #expect(await visitor.get("/?token=used", [site: "same-site", destination: "document"]).status == .ok)
    for other in ["empty", "iframe", "script", "image"] {
      #expect(await visitor.get("/", [site: "same-site", destination: other]).status == .forbidden)
    }
    #expect(
      await visitor.get("/api/overview", [site: "same-site", destination: "document"]).status == .forbidden)
    #expect(await visitor.post("/api/pause") { $0[site] = "same-site" }.status == .forbidden)
    #expect(await visitor.get("/%zz").status == .notFound)
    #expect(await visitor.get("/api/overview").status == .ok)
    for target in ["//api/overview", "/api//overview", "/api/overview/", "/api/overview/?x=1", "//"] {
      #expect(await visitor.get(target).status == .notFound, "\(target)")
    }
  }

  @Test("Every response forbids foreign content, frames, caches and guesses of its type")
  func fields() async throws {
    let visitor = try await InspectedDevice().visitor()
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
      + "require-trusted-types-for 'script'; trusted-types 'none'"
    for target in ["/", "/assets/app.js", "/api/overview", "/api/nothing", "/events"] {
      let headers = await visitor.get(target).headers
      #expect(headers[.contentSecurityPolicy] == policy)
      #expect(headers[.xContentTypeOptions] == "nosniff")
      #expect(headers[.cacheControl] == "no-store")
      #expect(headers[HTTPField.Name("Referrer-Policy") ?? .server] == "no-referrer")
    }
    #expect(await Visitor(visitor.request).get("/").headers[.contentSecurityPolicy] == policy)
  }

  @Test("The page is self-contained, without foreign addresses and inline code")
  func page() async throws {
    let visitor = try await InspectedDevice().visitor()
    let page = await visitor.get("/").text
    #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains("onclick"))
    var wanted = Set(page.matches(of: /"(\/assets\/[^"]+)"/).map { String($0.1) })
    var seen: Set<String> = []
    while let next = wanted.subtracting(seen).min() {
      seen.insert(next)
      let answer = await visitor.get(next)
      #expect(answer.status == .ok, "\(next)")
      for found in answer.text.matches(of: /from "\.\/([a-z]+\.js)"/) { wanted.insert("/assets/\(found.1)") }
      #expect(
        answer.text.matches(of: /https?:\/\/[^\s"`]+/).allSatisfy { $0.0.hasPrefix("http://www.w3.org/") },
        "\(next)")
    }
    #expect(seen.count >= 15)
  }
}
