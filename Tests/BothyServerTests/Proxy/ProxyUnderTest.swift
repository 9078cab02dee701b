import BothyCache
import BothyServer
import BothyTesting
import Foundation
import HTTPTypes
import Logging
import NIOHTTP1
import Synchronization
import Testing

/// A proxy with a cache in memory, in front of a scripted origin. Tests set its clock, and send requests without a
/// socket.
final class ProxyUnderTest: Sendable {
  let origin = ScriptedOrigin()
  private let time = Mutex<Int64>(1_796_083_200_000)
  private let configuration: Mutex<CacheProxyConfiguration?> = Mutex(nil)

  /// - Parameter clock: the clock for waiting, by default that of the machine.
  init(
    bodyBytes: Int? = nil, requestBytes: Int? = nil, isPrivate: Bool = false, clock: VirtualClock? = nil
  ) throws {
    let wall: @Sendable () -> Int64 = { [weak self] in self?.now ?? 0 }
    let cache = try ResourceCache(
      loader: origin, clock: clock.map { LoadClock($0, wall: wall) } ?? LoadClock(wall: wall))
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    var source = try CacheProxyConfiguration.source(origin: "http://origin.example", isPrivate: isPrivate)
    if let bodyBytes { source.limits.bodyBytes = bodyBytes }
    var made = CacheProxyConfiguration(port: 0, source: source, cache: cache, loader: origin, logger: logger)
    made.allowedHosts = ["x"]
    if let requestBytes { made.bodyLimit = requestBytes }
    made.now = { [weak self] in self?.now ?? 0 }
    configuration.withLock { $0 = made }
  }

  var now: Int64 { time.withLock { $0 } }

  /// The number of requests that have joined that of another.
  var joined: Int {
    configuration.withLock { $0?.cache.counters.values.reduce(0) { $0 + $1.coalesced } ?? 0 }
  }

  /// The number of responses from memory.
  var hits: Int {
    configuration.withLock { $0?.cache.counters.values.reduce(0) { $0 + $1.memoryHits } ?? 0 }
  }

  func pass(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

  func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> ProxyReply {
    try await send(.get, path, fields)
  }

  func send(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], body: String = "",
    to authority: String? = nil
  ) async throws -> ProxyReply {
    let answer = try await answer(method, path, fields, body: body, to: authority)
    let bytes = Collected()
    try await bytes.take(answer.body)
    var reply = ProxyReply(
      status: answer.status, fields: [:], text: String(decoding: bytes.bytes, as: UTF8.self))
    for field in answer.fields {
      reply.fields.append(HTTPField(name: try #require(HTTPField.Name(field.name)), value: field.value))
    }
    return reply
  }

  func answer(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], body: String = "",
    to authority: String? = nil
  ) async throws -> ProxyAnswer {
    try await proxy().answer(
      ProxyRequest(
        method: method, target: path, fields: fields, body: Data(body.utf8), authority: authority))
  }

  func proxy() throws -> CacheProxy { CacheProxy(try #require(configuration.withLock { $0 })) }
}

/// The response that a program receives from a proxy.
struct ProxyReply: Sendable {
  var status: Int
  var fields: HTTPFields
  var text: String

  /// The field `Cache-Status` of the response.
  var cacheStatus: String {
    guard let name = HTTPField.Name("Cache-Status") else { return "" }
    return fields[name] ?? ""
  }
}

/// An origin that responds to each request with the next line of its script, and records the requests.
final class ScriptedOrigin: ResourceLoader {
  struct Line: Sendable {
    var status: Int
    var fields: HTTPFields
    var pieces: AsyncThrowingStream<Data, any Error>
  }

  private struct State {
    var lines: [Result<Line, LoadFailure>] = []
    var requests: [ResourceRequest] = []
  }

  private let state = Mutex(State())

  var requests: [ResourceRequest] { state.withLock { $0.requests } }
  var last: ResourceRequest? { requests.last }

  func answers(_ status: Int = 200, _ fields: HTTPFields = [:], _ body: String = "body") {
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    if !body.isEmpty { continuation.yield(Data(body.utf8)) }
    continuation.finish()
    answers(status, fields, pieces)
  }

  func answers(_ status: Int, _ fields: HTTPFields, _ pieces: AsyncThrowingStream<Data, any Error>) {
    state.withLock { $0.lines.append(.success(Line(status: status, fields: fields, pieces: pieces))) }
  }

  func fails() { state.withLock { $0.lines.append(.failure(LoadFailure(.unreachable, "The line is cut."))) } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let line = state.withLock { state in
      state.requests.append(request)
      return state.lines.isEmpty
        ? .failure(LoadFailure(.unreachable, "The script has no more lines.")) : state.lines.removeFirst()
    }
    let answer = try line.get()
    return ResourceResponse(status: answer.status, fields: answer.fields, body: answer.pieces)
  }
}

/// A buffer for the bytes of a response as they arrive.
final class Collected: Sendable {
  private let buffer = Mutex<[UInt8]>([])
  var bytes: [UInt8] { buffer.withLock { $0 } }

  func take(_ body: ProxyAnswer.Body) async throws {
    switch body {
    case .none: break
    case .whole(let data): buffer.withLock { $0 += data }
    case .pieces(let pieces): for try await piece in pieces { buffer.withLock { $0 += piece } }
    }
  }
}
