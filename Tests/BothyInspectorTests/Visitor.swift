import BothyInspector
import BothyStore
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

/// An admitted browser.
struct Visitor: Sendable {
  static let host = "127.0.0.1:7000"
  /// The function that responds to requests with these bodies.
  let request: @Sendable (HTTPRequest, String) async -> Reply
  var cookie: String?

  init(_ ask: @escaping @Sendable (HTTPRequest, String) async -> Reply, cookie: String? = nil) {
    self.request = ask
    self.cookie = cookie
  }

  /// Opens the printed address, and keeps the cookie.
  init(entering address: String, _ ask: @escaping @Sendable (HTTPRequest, String) async -> Reply) async {
    let token = address.split(separator: "?").last.map(String.init) ?? ""
    let answer = await ask(HTTPRequest(.get, "/?" + token, host: Self.host), "")
    self.init(ask, cookie: answer.headers[.setCookie]?.split(separator: ";").first.map(String.init))
  }

  func get(_ target: String, _ headers: HTTPFields = [:]) async -> Reply {
    await send(.get, target, headers)
  }

  /// Sends a change like the page's own script, except for the alterations of `change`.
  func post(_ target: String, _ body: String = "{}", _ change: (inout HTTPFields) -> Void = { _ in }) async
    -> Reply
  {
    var headers: HTTPFields = [.origin: "http://" + Self.host, .contentType: "application/json"]
    if let name = HTTPField.Name("X-Bothy-Inspector") { headers[name] = "1" }
    change(&headers)
    return await send(.post, target, headers, body)
  }

  func send(
    _ method: HTTPRequest.Method, _ target: String, _ headers: HTTPFields = [:], _ body: String = ""
  ) async -> Reply {
    var headers = headers
    if let cookie { headers[.cookie] = cookie }
    return await request(HTTPRequest(method, target, headers: headers, host: Self.host), body)
  }

  func json(_ target: String) async throws -> JSONValue { try await get(target).json }
}

/// A response with its body. A stream of events isn't read.
struct Reply: Sendable {
  var status: HTTPResponse.Status
  var headers: HTTPFields = [:]
  var text = ""

  var json: JSONValue {
    get throws { try JSONValue(parsing: text) }
  }
}

extension HTTPRequest {
  init(_ method: HTTPRequest.Method, _ target: String, headers: HTTPFields = [:], host: String?) {
    self.init(method: method, scheme: "http", authority: host, path: target, headerFields: headers)
  }
}

extension InspectorApp {
  /// Responds to a request like the app's server, without a socket.
  func answer(_ request: HTTPRequest, _ body: String = "") async -> Reply {
    let router = Router(options: .autoGenerateHeadEndpoints)
    add(to: router)
    return await router.reply(to: request, body)
  }
}

extension Router<BasicRequestContext> {
  /// Returns the response of the router's routes.
  func reply(to request: HTTPRequest, _ body: String = "") async -> Reply {
    let context = BasicRequestContext(
      source: ApplicationRequestContextSource(
        channel: EmbeddedChannel(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    do {
      let response = try await buildResponder().respond(
        to: Request(head: request, body: RequestBody(buffer: ByteBuffer(string: body))), context: context)
      let written = WrittenBody()
      if response.headers[.contentType] != "text/event-stream" { try await response.body.write(written) }
      return Reply(status: response.status, headers: response.headers, text: written.text)
    } catch {
      return Reply(status: .internalServerError, text: "\(error)")
    }
  }
}

/// The body of a response, kept as it is written.
private final class WrittenBody: ResponseBodyWriter {
  private let bytes = Mutex(ByteBuffer())

  var text: String { bytes.withLock { String(buffer: $0) } }

  func write(_ buffer: ByteBuffer) { _ = bytes.withLock { $0.writeImmutableBuffer(buffer) } }

  func finish(_ trailingHeaders: HTTPFields?) {}
}
