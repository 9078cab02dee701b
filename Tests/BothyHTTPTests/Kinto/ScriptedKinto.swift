import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import HTTPTypes
import Synchronization

/// Responds like a Kinto server by a test's script, request by request. Batches are split.
final class ScriptedKinto: HTTPTransport {
  struct Call: Sendable, Equatable {
    var method: String
    /// The path after `/v1`, with its query.
    var path: String
    var headers: [String: String] = [:]
    var data: JSONValue?

    var text: String { "\(method) \(path)" }
  }

  struct Answer: Sendable {
    var status = 200
    var headers: [String: String] = [:]
    var body: JSONValue = .object([:])

    static func data(_ data: JSONValue, at timestamp: Int64, next: String? = nil, status: Int = 200) -> Answer
    {
      var headers = ["ETag": "\"\(timestamp)\""]
      if let next {
        headers["Next-Page"] = "https://kinto.test/v1/x?_limit=1&_token=\(next)&_sort=last_modified"
      }
      return Answer(status: status, headers: headers, body: ["data": data])
    }

    /// Returns a 412 with the server's record.
    static func stale(_ existing: JSONValue) -> Answer {
      Answer(status: 412, body: ["code": 412, "errno": 114, "details": ["existing": existing]])
    }

    static func error(_ status: Int, _ errno: Int64 = 999, headers: [String: String] = [:]) -> Answer {
      Answer(
        status: status, headers: headers,
        body: ["code": .int(Int64(status)), "errno": .int(errno), "error": "Error", "message": "no"])
    }
  }

  private struct State: Sendable {
    var calls: [Call] = []
    var batches: [Int] = []
    var script: @Sendable (Call) -> Answer
    var settings: JSONValue = ["batch_max_requests": 25, "readonly": false]
    var headers: [String: String] = [:]
  }

  private let state: Mutex<State>

  init(_ script: @escaping @Sendable (Call) -> Answer = { _ in .error(404, 111) }) {
    state = Mutex(State(script: script))
  }

  /// All requests except those for the settings, in order. Requests of a batch are listed one by one.
  var calls: [Call] { state.withLock { $0.calls } }

  /// The sizes of the batches.
  var batches: [Int] { state.withLock { $0.batches } }

  func forgetCalls() {
    state.withLock { state in
      state.calls = []
      state.batches = []
    }
  }

  func setScript(_ script: @escaping @Sendable (Call) -> Answer) { state.withLock { $0.script = script } }

  func setSettings(_ settings: JSONValue) { state.withLock { $0.settings = settings } }

  /// Sets the headers of every response.
  func setHeaders(_ headers: [String: String]) { state.withLock { $0.headers = headers } }

  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
    let prefix = "https://kinto.test/v1"
    guard request.url.hasPrefix(prefix) else {
      throw RemoteError(.unreachable, "Nobody is at \(request.url).")
    }
    let path = String(request.url.dropFirst(prefix.count))
    let body = request.body.isEmpty ? JSONValue.null : try Self.parsed(request.body)
    if path == "/" { return response(Answer(body: ["settings": state.withLock { $0.settings }])) }
    guard path == "/batch" else {
      var headers: [String: String] = [:]
      for field in request.headers { headers[field.name.canonicalName] = field.value }
      return response(
        answer(Call(method: request.method.rawValue, path: path, headers: headers, data: body["data"])))
    }
    let requests = body["requests"]?.arrayValue ?? []
    state.withLock { $0.batches.append(requests.count) }
    let answers = requests.map { request -> JSONValue in
      let call = Call(
        method: request["method"]?.stringValue ?? "", path: request["path"]?.stringValue ?? "",
        headers: (request["headers"]?.objectValue ?? [:]).reduce(into: [:]) {
          $0[$1.key.lowercased()] = $1.value.stringValue
        }, data: request["body"]?["data"])
      let answer = answer(call)
      return [
        "status": .int(Int64(answer.status)), "path": .string("/v1" + call.path),
        "headers": .object(answer.headers.mapValues { .string($0) }), "body": answer.body,
      ]
    }
    return response(Answer(body: ["responses": .array(answers)]))
  }

  private func answer(_ call: Call) -> Answer {
    let script = state.withLock { state in
      state.calls.append(call)
      return state.script
    }
    return script(call)
  }

  private func response(_ answer: Answer) -> TransportResponse {
    var headers: HTTPFields = [.date: "Sat, 21 Nov 2026 05:38:50 GMT"]
    for (name, value) in state.withLock({ $0.headers }).merging(answer.headers, uniquingKeysWith: { $1 }) {
      if let name = HTTPField.Name(name) { headers[name] = value }
    }
    return TransportResponse(
      status: answer.status, headers: headers, body: Array(answer.body.canonicalText.utf8))
  }

  private static func parsed(_ bytes: [UInt8]) throws(RemoteError) -> JSONValue {
    do { return try JSONValue(parsing: bytes) } catch { throw RemoteError(.rejected, "\(error)") }
  }

  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
    throw RemoteError(.rejected, "Kinto has no streams.")
  }

  /// The server's time in every response, 2026-11-21T05:38:50Z.
  static let time: Int64 = 1_795_239_530_000
}

extension KintoRemote {
  init(
    _ kinto: ScriptedKinto, credentials: KintoCredentials = .none, options: KintoOptions = KintoOptions(),
    now: @escaping @Sendable () -> Int64 = { ScriptedKinto.time }
  ) {
    self.init(
      url: "https://kinto.test", space: "hut", transport: kinto, credentials: credentials, options: options,
      clock: SyncClock(now: now))
  }
}
