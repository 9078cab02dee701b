import BothyServer
import BothyStore
import BothySyncService
import BothyTestSupport
import Foundation
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// What one user's large bodies, answers and long requests leave to others.
@Suite("Large bodies and answers", .timeLimit(.minutes(5)))
struct TransferTests {
  private static let tokens =
    #"[{"token":"a","principal":"ann","spaces":["hut"]},{"token":"b","principal":"bob","spaces":["hut"]}]"#

  /// Promises: A-37
  @Test("Large bodies beyond a user's share are 503, small and others' are accepted")
  func bodies() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits(bodySize: 100_000)
    limits.transferSize = 200_000
    let server = try ServerUnderTest(tokens: Self.tokens, limits: limits, storage: storage)
    let small = #"{"device":"d","schema":1,"pulls":[{"container":"T"}]}"#
    let large = small + String(repeating: " ", count: 90_000)
    try await server.run { call async throws in
      let (ann, bob) = (call.with(token: "a"), call.with(token: "b"))
      async let first = ann(.post, "/v1/spaces/hut/sync", large)
      await storage.waiters(1)
      storage.close()
      let second = try await ann(.post, "/v1/spaces/hut/sync", large)
      #expect(second.status == 503 && second.headers[.retryAfter] == "1", "\(second.text)")
      storage.allow()
      async let other = bob(.post, "/v1/spaces/hut/sync", large)
      await storage.waiters(2)
      async let third = ann(.post, "/v1/spaces/hut/sync", small)
      await storage.waiters(3)
      storage.open()
      #expect(try await [first.status, other.status, third.status] == [200, 200, 200])
      #expect(try await ann(.post, "/v1/spaces/hut/sync", large).status == 200)
    }
  }

  /// Promises: A-37
  @Test("Large bodies of all users together beyond the budget are 503")
  func allBodies() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits(bodySize: 100_000)
    limits.transferSize = 200_000
    let tokens = ["a", "b", "c"].map { #"{"token":"\#($0)","principal":"p\#($0)","spaces":["hut"]}"# }
    let server = try ServerUnderTest(
      tokens: "[\(tokens.joined(separator: ","))]", limits: limits, storage: storage)
    let large =
      #"{"device":"d","schema":1,"pulls":[{"container":"T"}]}"# + String(repeating: " ", count: 90_000)
    try await server.run { call async throws in
      @Sendable func send(_ token: String) async throws -> Int {
        try await call.with(token: token)(.post, "/v1/spaces/hut/sync", large).status
      }
      async let first = send("a")
      async let second = send("b")
      await storage.waiters(2)
      storage.close()
      #expect(try await send("c") == 503)
      storage.open()
      #expect(try await [first, second] == [200, 200])
      #expect(try await send("c") == 200)
    }
  }

  @Test("An answer that isn't read uses up the user's share, until it is read")
  func answers() async throws {
    var limits = ServerConfiguration.Limits()
    limits.transferSize = limits.bodySize
    let server = try ServerUnderTest(tokens: Self.tokens, limits: limits)
    try await server.run { call async throws in
      let text = String(repeating: "x", count: 900_000)
      for number in 0..<9 {
        let path = "/v1/spaces/hut/records/T/\(number)"
        #expect(try await call.with(token: "a")(.put, path, #"{"fields":{"a":"\#(text)"}}"#).status == 201)
      }
    }
    try await Self.checkUnread(
      server, "changes?container=T", of: 8_100_000, refusing: "records/T/1", taking: "records/T/none",
      as: 404)
  }

  @Test("While others' answers aren't read, an answer is shorter and not refused")
  func shorter() async throws {
    try await Self.whileUnread { call in
      let text = String(repeating: "x", count: 20_000)
      for number in 0..<60 {
        let body = #"{"fields":{"a":"\#(text)"}}"#
        let answer = try await call(.put, "/v1/spaces/hut/records/T/\(number)", body)
        #expect(answer.status == 201)
      }
    } check: { line in
      let answer = try await line.request(Self.get("/v1/spaces/hut/changes?container=T", token: "b"))
      let page = try JSONValue(parsing: Array(answer.text.utf8))
      let count = page["changes"]?.arrayValue?.count ?? 0
      #expect(answer.status == 200 && page["more"] == true && (3..<60).contains(count), "\(count)")
    }
  }

  @Test("While others' answers aren't read, lists without room are refused unread")
  func lists() async throws {
    try await Self.whileUnread { call in
      let members = (0..<5000).map { #""member number \#(10_000 + $0)""# }.joined(separator: ",")
      for number in 0..<4 {
        let body = #"{"id":"L\#(number)","name":"\#(number)","members":[\#(members)]}"#
        #expect(try await call(.post, "/v1/spaces/hut/lists", body).status == 201)
      }
      let lists = try await call(.get, "/v1/spaces/hut/lists")
      #expect(lists.status == 200 && (400_000..<900_000).contains(lists.text.utf8.count))
    } check: { line in
      let answer = try await line.request(Self.get("/v1/spaces/hut/lists", token: "b"))
      #expect(answer.status == 503 && answer.text.contains("on their way"), "\(answer.status)")
    }
  }

  /// Runs `check` while an answer of 8 MB isn't read, and answers have room for 9 MB.
  ///
  /// - Parameter fill: makes what is asked for, as another user than the one who doesn't read.
  private static func whileUnread(
    fill: @Sendable (RouteClient) async throws -> Void, check: (ProxyLine) async throws -> Void
  ) async throws {
    var limits = ServerConfiguration.Limits(bodySize: 1 << 20)
    limits.transferSize = 9_000_000
    let server = try ServerUnderTest(tokens: tokens, limits: limits)
    try await server.run { call async throws in
      let text = String(repeating: "x", count: 100_000)
      for number in 0..<80 {
        let path = "/v1/spaces/hut/records/Large/\(number)"
        let made = try await call.with(token: "a")(.put, path, #"{"fields":{"a":"\#(text)"}}"#)
        #expect(made.status == 201)
      }
      try await fill(call.with(token: "b"))
    }
    try await ConnectedServer.run(server.configuration) { server async throws in
      try await slowLine(server.address) { slow async throws in
        try await slow.send(get("/v1/spaces/hut/changes?container=Large"))
        #expect(try await slow.text(12) == "HTTP/1.1 200")
        try await server.line { line async throws in try await check(line) }
      }
    }
  }

  @Test("A blob that isn't read uses up the user's share, until it is read")
  func blobs() async throws {
    let folder = try TemporaryFolder()
    let bytes = [UInt8](repeating: 1, count: 24_000_000)
    let names = (large: ContentFile.sha256(of: bytes), small: ContentFile.sha256(of: [1 as UInt8]))
    let storage = FolderBlobStorage(at: folder.file("blobs"), now: { 1000 })
    for (name, bytes) in [(names.large, bytes), (names.small, [1])] {
      let part = BlobPart(sha256: name, size: Int64(bytes.count), offset: 0, bytes: bytes)
      #expect(try await storage.append(part, in: "hut") == .whole(size: part.size))
    }
    var limits = ServerConfiguration.Limits(bodySize: 600_000)
    limits.transferSize = 600_000
    var server = try ServerUnderTest(tokens: Self.tokens, limits: limits)
    server.configuration.blobs = storage
    let large = "blobs/\(names.large)"
    try await Self.checkUnread(
      server, large, of: 24_000_000, refusing: large, taking: "blobs/\(names.small)", as: 200)
  }

  /// Requests an answer of `size` bytes, reads its first line and then the rest.
  ///
  /// In between the server refuses the path `refused` and takes `taken`. After it, it answers both.
  private static func checkUnread(
    _ server: ServerUnderTest, _ large: String, of size: Int, refusing refused: String, taking taken: String,
    as status: Int
  ) async throws {
    let get = { (path: String) in Self.get("/v1/spaces/hut/\(path)") }
    try await ConnectedServer.run(server.configuration) { server async throws in
      try await Self.slowLine(server.address) { slow async throws in
        try await slow.send(get(large))
        // Most of the answer waits in the server, because the system keeps less than it.
        #expect(try await slow.text(12) == "HTTP/1.1 200")
        try await server.line { line async throws in
          let answer = try await line.request(get(refused))
          #expect(answer.status == 503 && answer.text.contains("on their way"), "\(answer.status)")
          #expect(try await line.request(get(taken)).status == status)
        }
        #expect(try await slow.text(size).hasPrefix(" OK"))
        try await server.line { line async throws in
          while try await line.request(get(refused)).status != 200 { await Task.yield() }
        }
      }
    }
  }

  /// Promises: A-37
  @Test("An answer larger than a user's share is sent if it is alone", arguments: [100_000, 800_000])
  func largeAnswer(transferSize: Int) async throws {
    var limits = ServerConfiguration.Limits(bodySize: 100_000)
    limits.transferSize = transferSize
    let server = try ServerUnderTest(tokens: Self.tokens, limits: limits)
    try await server.run { call async throws in
      let text = String(repeating: "x", count: 60_000)
      for number in 0..<3 {
        let path = "/v1/spaces/hut/records/T/\(number)"
        #expect(try await call.with(token: "a")(.put, path, #"{"fields":{"a":"\#(text)"}}"#).status == 201)
      }
    }
    try await ConnectedServer.run(server.configuration) { server async throws in
      try await server.line { line async throws in
        let answer = try await line.request(Self.get("/v1/spaces/hut/changes?container=T"))
        #expect(answer.status == 200 && answer.text.utf8.count > 180_000, "\(answer.status)")
      }
    }
  }

  @Test("Requests that use all processors leave threads to others")
  func threads() async throws {
    let storage = try BusyStorage()
    let server = try ServerUnderTest(storage: storage)
    try await server.run { call async throws in
      try await withThrowingTaskGroup { group in
        for _ in 0..<BusyStorage.callers {
          group.addTask { try await call(.get, "/v1/spaces/busy/changes").status }
        }
        while storage.running < BusyStorage.callers { await Task.yield() }
        #expect(try await call(.get, "/v1/spaces/hut/changes").status == 200)
        storage.end()
        for try await status in group { #expect(status == 200) }
      }
    }
  }

  private static func get(_ path: String, token: String = "a") -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
  }

  /// Connects with little room for bytes that aren't read.
  private static func slowLine(
    _ address: BothyServer.Address, _ body: (ProxyLine) async throws -> Void
  ) async throws {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelOption(.socketOption(.so_rcvbuf), value: 4096)
      .connect(host: address.host, port: address.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    try await channel.executeThenClose { inbound, outbound in try await body(ProxyLine(inbound, outbound)) }
  }
}

/// A storage whose reads of one space keep a processor busy until they may end.
private final class BusyStorage: ServerStorage {
  /// More than the processors, and than the system has threads for them. Any more would take time from other tests.
  static let callers = min(24, ProcessInfo.processInfo.activeProcessorCount + 1)

  private let storage: SQLiteServerStorage
  private let count = Atomic(0)
  private let isOver = Atomic(false)

  init() throws { storage = try SQLiteServerStorage() }

  var identity: String { storage.identity }
  var running: Int { count.load(ordering: .acquiring) }

  func end() { isOver.store(true, ordering: .releasing) }

  func check() async throws {}

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { try await storage.write(space: space, body) }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    if space == "busy" {
      count.add(1, ordering: .acquiringAndReleasing)
      while !isOver.load(ordering: .acquiring) {}
    }
    return try await storage.read(space: space, body)
  }
}
