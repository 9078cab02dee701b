import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@Suite("Compression", .timeLimit(.minutes(5)))
struct GzipTests {
  @Test("Large responses are gzip on request, strongly tagged records and small ones never")
  func answers() async throws {
    try await ServerUnderTest().run { call in
      let long = String(repeating: "x", count: 2000)
      _ = try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{"a":"\#(long)"}}"#)
      let gzip: HTTPFields = [.acceptEncoding: "br, gzip;q=0.5"]
      let packed = try await call(.get, "/v1/spaces/hut/changes", nil, gzip)
      #expect(packed.headers[.contentEncoding] == "gzip")
      #expect(packed.bytes.count < 500)
      #expect(packed.headers[.contentLength] == String(packed.bytes.count))
      let plain = try await call(.get, "/v1/spaces/hut/changes")
      #expect(plain.headers[.contentEncoding] == nil)
      let refused = try await call(.get, "/v1/spaces/hut/changes", nil, [.acceptEncoding: "gzip;q=0"])
      #expect(refused.headers[.contentEncoding] == nil)
      let record = try await call(.get, "/v1/spaces/hut/records/T/1", nil, gzip)
      #expect(record.headers[.contentEncoding] == nil)
      #expect(try await call(.get, "/healthz", nil, gzip).headers[.contentEncoding] == nil)
      // The server decompresses what it compressed: the page isn't a sync request, but it is read to its first member.
      let sent = try await call.send(
        .post, "/v1/spaces/hut/sync", ByteBuffer(bytes: packed.bytes), [.contentEncoding: "gzip"])
      #expect(sent.status == 400)
      #expect(sent.text.contains("no member 'container'"), "\(sent.text)")
    }
  }

  @Test("A small body that decompresses beyond the limit is 413, a broken one 400")
  func bombs() async throws {
    try await ServerUnderTest(limits: .init(bodySize: 1500)).run { call in
      let long = String(repeating: "x", count: 1400)
      let address = "/v1/spaces/hut/records/T/1"
      _ = try await call(.put, address, #"{"fields":{"a":"\#(long)"}}"#)
      let page = try await call(.get, "/v1/spaces/hut/changes", nil, [.acceptEncoding: "gzip"])
      let bomb = ByteBuffer(bytes: page.bytes)
      #expect(page.headers[.contentEncoding] == "gzip")
      #expect(
        try await call.send(.post, "/v1/spaces/hut/sync", bomb, [.contentEncoding: "gzip"]).status == 413)
      let half = ByteBuffer(bytes: page.bytes.prefix(20))
      #expect(
        try await call.send(.post, "/v1/spaces/hut/sync", half, [.contentEncoding: "gzip"]).status == 400)
    }
  }

  @Test("Decompressed bodies beyond the total budget, or half for one user, are 503")
  func budget() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits(bodySize: 10_000)
    limits.unpackedSize = 20_000
    let tokens = ["a", "b", "c"].map { #"{"token":"\#($0)","principal":"p\#($0)","spaces":["hut"]}"# }
    let server = try ServerUnderTest(
      tokens: "[\(tokens.joined(separator: ","))]", limits: limits, storage: storage)
    let plain = #"{"device":"d","schema":1,"pulls":[{"container":"T"}]}"#
    let body = ByteBuffer(
      bytes: try Gzip.compress(Array((plain + String(repeating: " ", count: 9_000)).utf8)))
    #expect(body.readableBytes < 200)
    try await server.run { call async throws in
      @Sendable func send(_ token: String) async throws -> Reply {
        try await call.with(token: token)
          .send(.post, "/v1/spaces/hut/sync", body, [.contentEncoding: "gzip"])
      }
      async let first = send("a")
      await storage.waiters(1)
      storage.close()
      let second = try await send("a")
      #expect(second.status == 503 && second.headers[.retryAfter] == "1", "\(second.text)")
      #expect(second.text.contains("without gzip"))
      storage.allow()
      async let other = send("b")
      await storage.waiters(2)
      storage.close()
      #expect(try await send("c").status == 503)
      storage.allow()
      // A body that isn't compressed is limited by the connection that sends it.
      async let open = call.with(token: "c")(.post, "/v1/spaces/hut/sync", plain)
      await storage.waiters(3)
      storage.open()
      #expect(try await [first.status, other.status, open.status] == [200, 200, 200])
      #expect(try await send("c").status == 200)
      #expect(try await send("a").status == 200)
    }
  }
}

/// A storage that responds to nothing until it is opened.
final class GatedStorage: ServerStorage {
  private let storage: SQLiteServerStorage
  private let state = Mutex(
    (isOpen: false, waiting: [CheckedContinuation<Void, Never>](), arrived: 0, most: Int.max))

  init() throws { storage = try SQLiteServerStorage() }

  var identity: String { storage.identity }

  func check() async throws {}

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Lets no further caller arrive: if one does, the storage opens, so that a test fails and doesn't wait for ever.
  func close() { state.withLock { $0.most = $0.arrived } }

  /// Allows further callers again after `close`.
  func allow() { state.withLock { $0.most = .max } }

  /// The number of callers since the beginning.
  var arrived: Int { state.withLock { $0.arrived } }

  /// Returns when `count` callers have arrived since the beginning.
  func waiters(_ count: Int) async {
    while arrived < count { await Task.yield() }
  }

  private func pass() async {
    await withCheckedContinuation { continuation in
      let (isOpen, isSurplus) = state.withLock { state in
        state.arrived += 1
        if !state.isOpen { state.waiting.append(continuation) }
        return (state.isOpen, state.arrived > state.most)
      }
      if isOpen { continuation.resume() } else if isSurplus { open() }
    }
  }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    await pass()
    return try await storage.write(space: space, body)
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    await pass()
    return try await storage.read(space: space, body)
  }
}
