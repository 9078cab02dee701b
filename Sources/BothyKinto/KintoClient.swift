import BothyHTTP
import BothyStore
import BothySync
import Foundation
import HTTPTypes
import Logging

/// A client of Kinto's HTTP interface.
///
/// It authenticates, sends batches, respects the pauses that the server requests, and turns refusals of whole requests
/// into `RemoteError`. It remembers the server's settings and the end of a pause.
actor KintoClient {
  private let base: String
  private let transport: any HTTPTransport
  private let tokens: TokenSource
  private let options: KintoOptions
  private let now: @Sendable () -> Int64
  private var settings: Settings?
  /// The time from which requests may be sent again, by the device's clock.
  private var pausedUntil: Int64 = 0
  private var lastAlert: String?

  struct Settings: Sendable {
    var batchLimit: Int
    var isReadOnly: Bool
  }

  /// The result of a request, and the server's time with it, in whole seconds.
  struct Reply<Value: Sendable>: Sendable {
    var value: Value
    var serverTime: Int64?
  }

  /// The largest number of simultaneous batches.
  private static let parallelLimit = 4

  init(
    url: String, transport: any HTTPTransport, credentials: KintoCredentials, options: KintoOptions,
    now: @escaping @Sendable () -> Int64
  ) {
    let root = url.hasSuffix("/") ? String(url.dropLast()) : url
    base = root.hasSuffix("/v1") ? root : root + "/v1"
    // This client handles the pauses that Kinto requests, so the transport does not wait.
    self.transport = GuardedTransport(
      transport: transport, patience: RetryAfterPolicy(retries: 0), allowsHTTP: options.allowsHTTP)
    self.options = options
    self.now = now
    tokens = TokenSource(now: now) { try await credentials.header().map { AccessToken($0) } }
  }

  // MARK: waiting

  /// Throws `.throttled` during a pause that the server requested.
  func checkPause() throws(RemoteError) {
    let left = pausedUntil - now()
    guard left > 0 else { return }
    throw RemoteError(
      .throttled, "Kinto asked to be left alone for another \((left + 999) / 1000) s.",
      retryAfter: Double(left) / 1000, code: "backoff")
  }

  private func note(_ answer: KintoAnswer) {
    let asked = answer.headers["backoff"].flatMap(Double.init) ?? 0
    let wait = max(asked, answer.status == 429 || answer.status == 503 ? answer.retryAfter ?? 0 : 0)
    if wait > 0, wait < 1e9 { pausedUntil = max(pausedUntil, now() + Int64(wait * 1000)) }
    guard let alert = answer.headers["alert"], alert != lastAlert else { return }
    lastAlert = alert
    options.logger.warning("The Kinto server announces its end.", metadata: ["alert": "\(alert)"])
  }

  // MARK: the server's settings

  /// Returns the server's settings. The first call sends one request.
  func serverSettings() async throws(RemoteError) -> Settings {
    if let settings { return settings }
    let answer = try await send(KintoRequest(method: "GET", path: "/")).value
    if let error = answer.error { throw error }
    guard let found = answer.body["settings"]?.objectValue else {
      throw RemoteError(.serverError, "\(base) does not answer like a Kinto server.", code: "badAnswer")
    }
    let limit = Int(clamping: found["batch_max_requests"]?.intValue ?? 0)
    let settings = Settings(
      batchLimit: limit > 0 ? limit : 100, isReadOnly: found["readonly"]?.boolValue ?? false)
    self.settings = settings
    return settings
  }

  // MARK: sending

  /// Sends one request. Throws for failures that do not concern the data: a missing response, 401, 410, 429 and 5xx.
  func send(_ request: KintoRequest) async throws(RemoteError) -> Reply<KintoAnswer> {
    let token = try await BothyRemote.credentials { [tokens] in try await tokens.token() }
    var answer = try await transmit(request, token?.value)
    if answer.isUnauthenticated {
      let other = try await BothyRemote.credentials { [tokens] in try await tokens.token(insteadOf: token) }
      if let other, other != token { answer = try await transmit(request, other.value) }
    }
    note(answer)
    if let error = answer.error, answer.status == 401 || answer.status == 410 || error.isTransient {
      throw error
    }
    return Reply(
      value: answer, serverTime: answer.headers["date"].flatMap { HTTPDate.milliseconds($0, now: 0) })
  }

  private func transmit(_ request: KintoRequest, _ token: String?) async throws(RemoteError) -> KintoAnswer {
    guard let method = HTTPRequest.Method(rawValue: request.method) else {
      throw RemoteError(.rejected, "'\(request.method)' isn't a method of HTTP.")
    }
    var headers: HTTPFields = [.accept: "application/json"]
    if let token { headers[.authorization] = token }
    for (name, value) in request.headers { HTTPField.Name(name).map { headers[$0] = value } }
    var body: [UInt8] = []
    if let json = request.body {
      headers[.contentType] = "application/json"
      var writer = JSONWriter(reserving: 1024)
      json.write(to: &writer)
      body = writer.bytes
    }
    let response = try await transport.send(
      TransportRequest(method, base + request.path, headers: headers, body: body, timeout: options.timeout))
    var names: [String: String] = [:]
    for field in response.headers { names[field.name.canonicalName] = field.value }
    if response.body.isEmpty { return KintoAnswer(status: response.status, headers: names) }
    if let json = try? JSONValue(parsing: response.body) {  // a gateway's page isn't JSON
      return KintoAnswer(status: response.status, headers: names, body: json)
    }
    guard response.status >= 400 else {
      throw RemoteError(
        .serverError, "The answer of \(base) can't be read: it isn't JSON.", code: "badAnswer")
    }
    return KintoAnswer(status: response.status, headers: names)
  }

  /// Sends requests as one batch, at most the server's limit. Returns the responses in their order.
  ///
  /// On PostgreSQL, a 409 or 5xx for one of them undoes all, whatever the other responses are, so it is thrown.
  func batch(_ requests: [KintoRequest]) async throws(RemoteError) -> Reply<[KintoAnswer]> {
    if requests.isEmpty { return Reply(value: [], serverTime: nil) }
    if requests.count == 1 {
      let reply = try await send(requests[0])
      return Reply(value: [reply.value], serverTime: reply.serverTime)
    }
    let request = KintoRequest(
      method: "POST", path: "/batch", body: .object(["requests": .array(requests.map(\.json))]))
    let reply = try await send(request)
    if let error = reply.value.error { throw error }
    let answers = (reply.value.body["responses"]?.arrayValue ?? []).compactMap(KintoAnswer.init)
    guard answers.count == requests.count else {
      throw RemoteError(
        .serverError, "Kinto answered \(answers.count) of \(requests.count) requests.", code: "badAnswer")
    }
    for answer in answers {
      note(answer)
      guard let error = answer.error else { continue }
      if answer.status == 409 { throw Self.undone(answer) }
      if answer.status == 401 || answer.status == 410 || error.isTransient { throw error }
    }
    return Reply(value: answers, serverTime: reply.serverTime)
  }

  /// Returns the error for a batch that was undone as a whole.
  static func undone(_ answer: KintoAnswer) -> RemoteError {
    RemoteError(.serverError, answer.message, status: 409, code: "undone")
  }

  /// Sends any number of reading requests in batches, a few of them at once. Returns the responses in their order.
  ///
  /// The time is the earliest of all responses.
  func read(_ requests: [KintoRequest]) async throws(RemoteError) -> Reply<[KintoAnswer]> {
    let limit = try await serverSettings().batchLimit
    let batches = stride(from: 0, to: requests.count, by: limit).map { start in
      Array(requests[start..<min(start + limit, requests.count)])
    }
    if batches.count <= 1 { return try await batch(requests) }
    let results = await withTaskGroup(of: (Int, Result<Reply<[KintoAnswer]>, RemoteError>).self) { group in
      var results: [Int: Result<Reply<[KintoAnswer]>, RemoteError>] = [:]
      var next = 0
      func begin() {
        let index = next
        next += 1
        group.addTask {
          do throws(RemoteError) {
            return (index, .success(try await self.batch(batches[index])))
          } catch {
            return (index, .failure(error))
          }
        }
      }
      while next < min(Self.parallelLimit, batches.count) { begin() }
      while let (index, result) = await group.next() {
        results[index] = result
        if next < batches.count, case .success = result { begin() }
      }
      return results
    }
    var answers: [KintoAnswer] = []
    var earliest: Int64?
    for (_, result) in results.sorted(by: { $0.key < $1.key }) {
      let reply = try result.get()
      answers += reply.value
      earliest = [earliest, reply.serverTime].compactMap { $0 }.min()
    }
    return Reply(value: answers, serverTime: earliest)
  }
}

extension KintoCredentials {
  fileprivate func header() async throws -> String? {
    switch self {
    case .none: return nil
    case .basic(let user, let password):
      return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    case .bearer(let token): return try await token().map { "Bearer \($0)" }
    }
  }
}
