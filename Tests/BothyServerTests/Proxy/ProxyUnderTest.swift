import BothyCache
import BothyServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// A proxy with a cache in memory in front of a scripted origin, at a time that tests set; spoken to without a socket.
final class ProxyUnderTest: Sendable {
  let origin = ScriptedOrigin()
  private let time = Mutex<Int64>(1_796_083_200_000)
  private let configuration: Mutex<CacheProxyConfiguration?> = Mutex(nil)

  init(bodyBytes: Int? = nil) throws {
    let cache = try ResourceCache(
      loader: origin, clock: LoadClock(ContinuousClock(), wall: { [weak self] in self?.now ?? 0 }))
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    var source = try CacheProxyConfiguration.source(origin: "http://origin.example")
    if let bodyBytes { source.limits.bodyBytes = bodyBytes }
    var made = CacheProxyConfiguration(port: 0, source: source, cache: cache, loader: origin, logger: logger)
    made.now = { [weak self] in self?.now ?? 0 }
    configuration.withLock { $0 = made }
  }

  var now: Int64 { time.withLock { $0 } }

  func pass(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

  func get(_ path: String, _ fields: HTTPFields = [:]) async throws -> ProxyReply {
    try await send(.get, path, fields)
  }

  func send(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], body: String = ""
  ) async throws -> ProxyReply {
    let response = try await response(method, path, fields, body: body)
    let bytes = Collected()
    try await response.body.write(bytes.writer)
    return ProxyReply(
      status: response.status.code, fields: response.headers,
      text: String(decoding: bytes.bytes, as: UTF8.self))
  }

  func response(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], body: String = ""
  ) async throws -> Response {
    guard let configuration = configuration.withLock({ $0 }) else { throw CancellationError() }
    let head = HTTPRequest(
      method: method, scheme: "http", authority: "proxy", path: path, headerFields: fields)
    return try await CacheProxy(configuration)
      .respond(to: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))))
  }
}

/// What a program gets from a proxy.
struct ProxyReply: Sendable {
  var status: Int
  var fields: HTTPFields
  var text: String

  /// What the cache had to do with it.
  var cacheStatus: String {
    guard let name = HTTPField.Name("Cache-Status") else { return "" }
    return fields[name] ?? ""
  }
}

/// An origin that answers each request with the next line of its script, and remembers what it was asked.
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

/// Takes the bytes of an answer as they are written.
final class Collected: Sendable {
  private let buffer = Mutex<[UInt8]>([])
  var bytes: [UInt8] { buffer.withLock { $0 } }
  var writer: any ResponseBodyWriter { Writer(into: self) }

  private struct Writer: ResponseBodyWriter {
    let into: Collected
    mutating func write(_ buffer: ByteBuffer) async throws {
      into.buffer.withLock { $0.append(contentsOf: buffer.readableBytesView) }
    }
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    init(into: Collected) { self.into = into }
  }
}
