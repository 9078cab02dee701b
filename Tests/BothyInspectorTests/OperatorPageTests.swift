import BothyInspector
import BothyStore
import HTTPTypes
import Logging
import Testing

@Suite("The operator's page", .timeLimit(.minutes(5)))
struct OperatorPageTests {
  /// Returns the app with one document, and an admitted browser.
  private func page(
    _ interval: Duration = .seconds(3600), look: @escaping @Sendable () async -> Void = {}
  ) async -> (front: InspectorApp, visitor: Visitor) {
    let subjects = OperatorSubjects(interval: interval, look: look) { name, parameters in
      switch name {
      case "spaces": Array(#"{"part":"\#(parameters["part"] ?? "none")"}"#.utf8)
      case "space": throw BothyError(.notFound, "The database has no space 'hut'. Go back to the list.")
      default: nil
      }
    }
    let front = InspectorApp(
      operating: subjects, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    front.opens(at: 7000)
    return (front, await Visitor(entering: front.address, front.answer))
  }

  @Test("The page has the inspector's access control, and names its own command")
  func door() async throws {
    let (front, visitor) = await page()
    let page = await visitor.get("/").text
    #expect(page.contains("<title>Bothy operator</title>") && page.contains(#"src="/assets/operator.js""#))
    #expect(page.contains(#"<html lang="en" data-command="bothy admin page""#) && !page.contains("$"))
    let stranger = Visitor(front.answer)
    for target in ["/", "/assets/operator.js", "/api/operator/spaces", "/events"] {
      let answer = await stranger.get(target)
      #expect(answer.status == .unauthorized, "\(target)")
      #expect(answer.text.contains("Run `bothy admin page` again"))
    }
    let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
    #expect(await visitor.get("/api/operator/spaces", [site: "cross-site"]).status == .forbidden)
    let foreign = await front.answer(HTTPRequest(.get, "/", host: "bothy.example:7000"))
    #expect(foreign.status == .misdirectedRequest)
  }

  @Test("Documents come with the parameters of the request, and problems with their sentence")
  func documents() async throws {
    let (_, visitor) = await page()
    let answer = await visitor.get("/api/operator/spaces?part=a%20b")
    #expect(answer.headers[.contentType] == "application/json" && answer.headers[.cacheControl] == "no-store")
    #expect(answer.text == #"{"part":"a b"}"#)
    let missing = await visitor.get("/api/operator/space?name=hut")
    #expect(missing.text.contains("The database has no space 'hut'") && missing.status == .badRequest)
    for target in ["/api/operator/nothing", "/api/operator/", "/api/overview", "/api/records"] {
      #expect(await visitor.get(target).status == .notFound, "\(target)")
    }
  }

  @Test("The page takes no changes")
  func changes() async throws {
    let (_, visitor) = await page()
    for target in ["/", "/api/operator/spaces", "/api/resolve"] {
      #expect(await visitor.post(target).status == .methodNotAllowed, "\(target)")
    }
  }

  @Test("After each look at the servers the page gets an event")
  func events() async throws {
    let looks = AsyncStream<Void>.makeStream()
    let (front, _) = await page(.milliseconds(1)) { looks.continuation.yield() }
    var events = front.events().makeAsyncIterator()
    #expect(await events.next()?.name == .alive)
    let watch = Task { try await front.run() }
    var looked = looks.stream.makeAsyncIterator()
    for _ in 0..<2 {
      await looked.next()
      while let event = await events.next(), event.name != .operator {}
    }
    watch.cancel()
    _ = await watch.result
    while await events.next() != nil {}
  }

  @Test("The page is self-contained, without foreign addresses and inline code")
  func assets() async throws {
    let (_, visitor) = await page()
    let page = await visitor.get("/").text
    #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains("onclick"))
    var wanted = Set(page.matches(of: /"(\/assets\/[^"]+)"/).map { String($0.1) })
    var seen: Set<String> = []
    while let next = wanted.subtracting(seen).min() {
      seen.insert(next)
      let answer = await visitor.get(next)
      #expect(answer.status == .ok, "\(next)")
      for found in answer.text.matches(of: /from "\.\/([a-z]+\.js)"/) { wanted.insert("/assets/\(found.1)") }
      #expect(answer.text.matches(of: /innerHTML|eval\(|document\.write/).isEmpty, "\(next)")
    }
    #expect(seen.isSuperset(of: ["/assets/operator.js", "/assets/operatorspaces.js", "/assets/shell.js"]))
  }
}
