package import BothyStore
public import BothySync
import Foundation
import HTTPTypes

/// A Bothy server over HTTP, for one space and one user. Creating one sends no request.
///
/// ```swift
/// let remote = BothyRemote(url: "https://bothy.example.org", space: "home") { try await session.token() }
/// ```
///
/// Requests to an address without TLS are refused, unless it is this machine's or `allowsHTTP` is true. Syncs
/// then end with `SyncObstacle.rejected`. An answer of another kind, such as a network's sign-in page, counts
/// as unreachable. Copies share the token and the connections.
public struct BothyRemote: RemoteStorage, CompleteRemote {
  let base: String
  let transport: any HTTPTransport
  private let tokens: TokenSource
  let timeout: Duration
  private let silenceLimit: Duration

  /// Creates a remote.
  /// - Parameters:
  ///   - url: The server's address, such as `https://example.org`, with a path if the server is below one.
  ///   - space: The space's name.
  ///   - transport: The network stack. The default is the platform's own.
  ///   - timeout: The longest wait for an answer. The stream of notifications has `silenceLimit` instead.
  ///   - silenceLimit: The longest silence of the stream of notifications before it counts as lost. The server sends a
  ///     sign of life every 15 seconds, but a broken connection sends none.
  ///   - patience: The longest time to wait for a busy server.
  ///   - allowsHTTP: True if an address without TLS may be used that isn't on this machine.
  ///   - now: The clock to compare with a token's expiry, in milliseconds since 1970. `nil` uses the system's clock.
  ///   - accessToken: Returns the token to send, or `nil` for none. The token is kept, and the closure is called again
  ///     before the token expires and after a 401. It is called once for all waiting requests and once in a sync. Only
  ///     the refused request is sent again.
  public init(
    url: String, space: String, transport: any HTTPTransport = .system, timeout: Duration = .seconds(60),
    silenceLimit: Duration = .seconds(50),
    patience: RetryAfterPolicy = RetryAfterPolicy(), allowsHTTP: Bool = false,
    now: (@Sendable () -> Int64)? = nil,
    accessToken: @escaping @Sendable () async throws -> AccessToken?
  ) {
    let root = url.hasSuffix("/") ? String(url.dropLast()) : url
    base = "\(root)/v1/spaces/\(Self.encoded(space))"
    self.transport = GuardedTransport(transport: transport, patience: patience, allowsHTTP: allowsHTTP)
    self.timeout = timeout
    self.silenceLimit = silenceLimit
    tokens = TokenSource(now: now ?? { Int64(Date().timeIntervalSince1970 * 1000) }, accessToken)
  }

  /// Creates a remote with a token whose expiry is unknown. Sends no request. The address is checked by the
  /// first one.
  ///
  /// - Parameters:
  ///   - url: The server's address, such as `https://example.org`, with a path if the server is below one.
  ///   - space: The space's name, in any characters.
  ///   - timeout: The longest wait for an answer. The stream of notifications has `silenceLimit` instead.
  ///   - token: Returns the token to send, or `nil` for none. It is called before the first request and after a
  ///     401. If it throws, syncs end with `SyncObstacle.signInRequired`, except for a `URLError`, which counts
  ///     as unreachable.
  public init(
    url: String, space: String, transport: any HTTPTransport = .system, timeout: Duration = .seconds(60),
    silenceLimit: Duration = .seconds(50),
    patience: RetryAfterPolicy = RetryAfterPolicy(), allowsHTTP: Bool = false,
    token: @escaping @Sendable () async throws -> String? = { nil }
  ) {
    self.init(
      url: url, space: space, transport: transport, timeout: timeout, silenceLimit: silenceLimit,
      patience: patience,
      allowsHTTP: allowsHTTP,
      accessToken: { try await token().map { AccessToken($0) } })
  }

  /// True if the address uses TLS or is on this machine.
  package var isConfidential: Bool { GuardedTransport.isConfidential(base) }

  /// Sends operations and pulls changes with one `POST`. It is repeated for a busy server as `patience` allows,
  /// and once with another token after a 401.
  ///
  /// - Throws: `RemoteError` by the answer's status: `unauthenticated` for 401, `throttled` for 429,
  ///   `serverError` for 500. A 503 is `throttled` if it names a wait. No answer, and the error of a gateway,
  ///   are `unreachable`.
  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let response = try await send(.post, "/sync", body: request.encoded())
    return try Self.parsed { try SyncResponse(decoding: response.body) }
  }

  /// Returns all records of a query. A response has a limited size, so this requests pages until the result is
  /// complete. A record that changed between two pages is returned once, with its later version.
  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    var records: [ServerRecord] = []
    var page = query
    var cursor: String?
    while true {
      let found = try await self.page(page, after: cursor)
      records = records.adding(found.records)
      guard found.more, !found.records.isEmpty else { return records }
      cursor = found.next
      page.offset = query.offset.addingClamped(records.count)
      page.limit = query.limit.map { max(0, $0 - records.count) }
    }
  }

  /// Requests a page after a cursor. A server that gives no cursors is asked with an offset.
  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    var document = query.json.objectValue ?? [:]
    if let cursor { document["after"] = .string(cursor) }
    let response = try await send(
      .post, "/query", body: Array(JSONValue.object(document).canonicalText.utf8))
    return try Self.parsed {
      var (found, next, more) = ([ServerRecord]?.none, String?.none, false)
      try JSONReader.read(response.body) { reader in
        try reader.object { name, reader in
          switch name {
          case "records":
            var records: [ServerRecord] = []
            try reader.array { records.append(try ServerRecord(from: &$0)) }
            found = records
          case "next": next = try reader.string()
          case "more": more = try reader.bool()
          default: try reader.skip()
          }
        }
      }
      guard let records = found, records.allSatisfy({ $0.id.type == query.type }) else {
        throw JSONError(reason: "the answer needs 'records' of \(query.type)", offset: 0)
      }
      return RemotePage(records, next: next, more: more)
    }
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    let response = try await send(.post, "/count", body: Array(query.json.canonicalText.utf8))
    return try Self.parsed {
      guard let count = try JSONValue(parsing: response.body)["count"]?.intValue else {
        throw JSONError(reason: "the answer needs 'count'", offset: 0)
      }
      return Int(clamping: count)
    }
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await digest(scope, parts: 0)
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    let response = try await send(.get, "/digest" + Self.query(scope, parts > 0 ? ["parts=\(parts)"] : []))
    return try Self.parsed { try JSONReader.read(response.body) { try ScopeDigest(from: &$0) } }
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    let list = chosen.map(String.init).joined(separator: ",")
    let response = try await send(.get, "/stamps" + Self.query(scope, ["parts=\(parts)", "in=\(list)"]))
    return try Self.parsed { try RecordStamp.list(decoding: response.body) }
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    var more = ["limit=\(query.limit)"]
    if let before = query.before { more.append("before=\(before)") }
    if let record = query.record {
      more += ["type=\(Self.encoded(record.type))", "id=\(Self.encoded(record.id))"]
    }
    let response = try await send(.get, "/history" + Self.query(query.scope, more))
    return try Self.parsed { try ChangeHistory(decoding: response.body) }
  }

  package func joinedLists() async throws(RemoteError) -> [JoinedList] {
    let response = try await send(.get, "/joined-lists")
    return try Self.parsed { try JoinedList.lists(decoding: response.body) }
  }

  private static func query(_ scope: SyncScope, _ more: [String]) -> String {
    let container = encoded(scope.container)
    let own = scope == .everything ? [] : ["container=\(container)", "children=\(scope.includesChildren)"]
    return own.isEmpty && more.isEmpty ? "" : "?" + (own + more).joined(separator: "&")
  }

  /// Returns a stream with an element each time something changed on the server, and one when the connection is
  /// open.
  ///
  /// It keeps one connection open until it is released. Elements that come before the reader takes one are
  /// joined. Ends when the server ends it, and throws `RemoteError` if it is refused, is lost, or is silent for
  /// `silenceLimit`.
  public func notifications() -> AsyncThrowingStream<Void, any Error> {
    let (notifications, continuation) = AsyncThrowingStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let task = Task {
      do {
        try await listen { continuation.yield() }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return notifications
  }

  /// Calls `body` for each notification until the server ends the stream.
  ///
  /// Also calls it once when the stream is open, because earlier notifications are not repeated.
  private func listen(_ body: @escaping @Sendable () -> Void) async throws {
    try await SilenceWatch.withLimit(silenceLimit) { heard in
      let stream = try await openEvents()
      body()
      var parser = EventStreamParser()
      for try await bytes in stream.body {
        heard()
        for event in parser.feed(bytes) where event.name == "news" { body() }
      }
    }
  }

  private func openEvents() async throws -> TransportStream {
    let stream = try await authorized { headers throws(RemoteError) in
      var headers = headers
      headers[.accept] = "text/event-stream"
      let request = TransportRequest(.get, base + "/events", headers: headers, timeout: timeout)
      let stream = try await transport.open(request)
      return (stream, stream.status)
    }
    if let error = RemoteError(status: stream.status, message: "The event stream was refused.") {
      throw error
    }
    return stream
  }
}

extension BothyRemote {
  private func send(
    _ method: HTTPRequest.Method, _ path: String, body: [UInt8] = []
  ) async throws(RemoteError) -> TransportResponse {
    let response = try await authorized { headers throws(RemoteError) in
      var headers = headers
      headers[.accept] = "application/json"
      if !body.isEmpty { headers[.contentType] = "application/json" }
      // Posted bodies are queries, or operations with ids, so a repetition has no further effect.
      let request = TransportRequest(
        method, base + path, headers: headers, body: body, timeout: timeout, isRepeatable: true)
      let response = try await transport.send(request)
      return (response, response.status)
    }
    if let error = Self.problem(response) { throw error }
    return response
  }

  /// Sends a request with the token. After a 401 it sends it once more if another token is available.
  func authorized<Response: Sendable>(
    _ send: (HTTPFields) async throws(RemoteError) -> (Response, status: Int)
  ) async throws(RemoteError) -> Response {
    let token = try await Self.credentials { try await tokens.token() }
    let (response, status) = try await send(Self.fields(token))
    guard status == 401 else { return response }
    let other = try await Self.credentials { try await tokens.token(insteadOf: token) }
    guard let other, other != token else { return response }
    return try await send(Self.fields(other)).0
  }

  package static func credentials<Token: Sendable>(
    _ body: @Sendable () async throws -> Token?
  ) async throws(RemoteError) -> Token? {
    do {
      return try await body()
    } catch let error as RemoteError {
      throw error
    } catch is CancellationError {
      throw .cancelled
    } catch let error as URLError
      where ![.userAuthenticationRequired, .userCancelledAuthentication].contains(error.code)
    {
      // The app's sign-in server can't be reached either, which isn't a reason to sign in again.
      throw RemoteError(.unreachable, "No token came: \(error.localizedDescription)", code: "network")
    } catch {
      throw RemoteError(.unauthenticated, "The app gave no token: \(error).", code: "noToken")
    }
  }

  private static func fields(_ token: AccessToken?) -> HTTPFields {
    var fields: HTTPFields = [:]
    if let token { fields[.authorization] = "Bearer \(token.value)" }
    if let name = HTTPField.Name(FileIdentity.header) { fields[name] = FileIdentity.current?.field }
    return fields
  }

  package static func encoded(_ name: String) -> String {
    let unreserved = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return name.addingPercentEncoding(withAllowedCharacters: unreserved) ?? name
  }

  /// Returns the error of a response, or `nil` if it isn't an error.
  static func problem(_ response: TransportResponse) -> RemoteError? {
    if (300..<400).contains(response.status) { return notTheServer("It is a redirect, \(response.status).") }
    guard response.status >= 400 else { return nil }
    if isForeign(response) { return notTheServer("It is a page, with the status \(response.status).") }
    let error = (try? JSONValue(parsing: response.body))?["error"]  // a gateway's page isn't JSON
    return RemoteError(
      status: response.status,
      message: error?["message"]?.stringValue ?? "The server answered \(response.status).",
      retryAfter: RetryAfter.seconds(response.headers), code: error?["code"]?.stringValue)
  }

  /// True if a refusal is a page. The server's own refusals are JSON.
  ///
  /// A gateway in front of the server may still send pages when a request is too large or too early, or when the server
  /// is down.
  private static func isForeign(_ response: TransportResponse) -> Bool {
    guard (400..<500).contains(response.status), ![408, 413, 425, 429].contains(response.status) else {
      return false
    }
    return response.headers[.contentType]?.lowercased().hasPrefix("text/html") ?? false
  }

  private static func parsed<Value>(_ parse: () throws -> Value) throws(RemoteError) -> Value {
    do {
      return try parse()
    } catch {
      throw notTheServer("\(error)")
    }
  }

  /// Returns the error for a response that no Bothy server sends. The request may or may not have reached the server.
  static func notTheServer(_ why: String) -> RemoteError {
    RemoteError(
      .unreachable,
      "The answer is not a Bothy server's: it may be a sign-in page of the network. Sign in to the network, or check the "
        + "server's address. \(why)", code: "notTheServer")
  }
}
