import BothyHTTP
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import ServiceLifecycle
import Synchronization
import Testing

@Suite("Client and server over a socket", .timeLimit(.minutes(10)))
struct EndToEndTests {
  private static let tokens = """
    [{"token":"a-token","principal":"ann","spaces":["hut"]},
     {"token":"b-token","principal":"bob","spaces":["hut","other"]}]
    """

  private func insert(_ id: String, _ value: Int64 = 1) -> SyncOperation {
    SyncOperation(
      id: "insert-\(id)", kind: .insert, record: RecordID(type: "Todo", id: id), fields: ["n": .int(value)])
  }

  @Test("Two users exchange records, and the later of two edits is a conflict")
  func exchange() async throws {
    try await RunningServer.run(tokens: Self.tokens) { server in
      let ann = server.remote(token: "a-token")
      let bob = server.remote(token: "b-token")
      let pushed = try await ann.exchange(
        SyncRequest(device: "a", operations: [insert("1"), insert("2", 5)]))
      #expect(pushed.outcomes.count == 2)
      let pulled = try await bob.exchange(SyncRequest(device: "b", pulls: [.init(.everything)]))
      #expect(pulled.pages[0].changes.map(\.owner) == ["ann", "ann"])
      let record = RecordID(type: "Todo", id: "1")
      let first = SyncOperation(id: "u1", kind: .update, record: record, base: "1", fields: ["n": 7])
      let second = SyncOperation(id: "u2", kind: .update, record: record, base: "1", fields: ["n": 8])
      _ = try await bob.exchange(SyncRequest(device: "b", operations: [first]))
      let late = try await ann.exchange(SyncRequest(device: "a", operations: [second]))
      guard case .conflict(let current?) = late.outcomes[0].verdict else {
        Issue.record("\(late.outcomes)")
        return
      }
      #expect(current.version == "3")
      let query = AnyQuery("Todo", where: .compare(field: "n", .greater, 6))
      #expect(try await ann.query(query).map(\.id.id) == ["1"])
      #expect(try await ann.count(AnyQuery("Todo")) == 2)
      let digest = try await bob.digest(.everything)
      #expect(digest.count == 2)
      #expect(try await bob.digest(SyncScope(container: "Todo")).digest == digest.digest)
    }
  }

  @Test("A result longer than a response arrives whole, page by page")
  func pagedQuery() async throws {
    var rules = AccessRules()
    rules.answerSize = 1  // one record, because a record is never divided
    try await RunningServer.run(rules: rules) { server in
      let inserts = (Int64(1)...5).map { insert("\($0)", $0) }
      _ = try await server.remote().exchange(SyncRequest(device: "a", operations: inserts))
      let network = FaultyTransport(platformTransport())
      let remote = BothyRemote(url: server.url, space: "hut", transport: network)
      let all = try await remote.query(AnyQuery("Todo", order: [SortKey("n")]))
      #expect(all.map(\.id.id) == ["1", "2", "3", "4", "5"])
      #expect(network.requests.count == 5)
      let some = try await remote.query(AnyQuery("Todo", order: [SortKey("n")], limit: 3, offset: 1))
      #expect(some.map(\.id.id) == ["2", "3", "4"])
      #expect(network.requests.count == 8)
    }
  }

  @Test("A wrong token, a foreign space and a bad cursor have different errors")
  func refusals() async throws {
    try await RunningServer.run(tokens: Self.tokens) { server in
      let request = SyncRequest(device: "a", pulls: [.init(.everything)])
      for token in [nil, "x"] {
        let error = await #expect(throws: RemoteError.self) {
          try await server.remote(token: token).exchange(request)
        }
        #expect(error?.errorClass == .unauthenticated)
        #expect(error?.status == 401)
      }
      let error = await #expect(throws: RemoteError.self) {
        try await server.remote("other", token: "a-token").exchange(request)
      }
      #expect(error?.errorClass == .forbidden)
      let bad = SyncRequest(device: "a", pulls: [.init(.everything, cursor: "x")])
      let refused = await #expect(throws: RemoteError.self) {
        try await server.remote(token: "a-token").exchange(bad)
      }
      #expect(refused?.errorClass == .rejected)
      #expect(refused?.code == "badCursor")
    }
  }

  @Test("An expired token is renewed once, and only the refused requests are repeated")
  func renewal() async throws {
    try await RunningServer.run(tokens: Self.tokens) { server in
      let asked = Mutex(0)
      let remote = BothyRemote(
        url: server.url + "/", space: "hut", transport: platformTransport()
      ) {
        asked.withLock { asked in
          asked += 1
          return asked == 1 ? "old" : "a-token"
        }
      }
      await withTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask {
            let request = SyncRequest(device: "a\(number)", pulls: [.init(.everything)])
            return (try? await remote.exchange(request)) != nil  // a failure shows as false
          }
        }
        for await succeeded in group { #expect(succeeded) }
      }
      #expect(asked.withLock { $0 } == 2)
    }
  }

  @Test("A notification follows another device's write, and the stream ends with the server")
  func notifications() async throws {
    try await RunningServer.run { server in
      let remote = server.remote()
      var notifications = remote.notifications().makeAsyncIterator()
      let gauge = "bothy_event_streams 1"
      while !server.server.metrics.prometheusText.contains(gauge) { await Task.yield() }
      let opening: Void? = try await notifications.next()
      #expect(opening != nil, "what happened before the stream was open is told by nobody else")
      _ = try await server.remote().exchange(SyncRequest(device: "a", operations: [insert("1")]))
      let notification: Void? = try await notifications.next()
      #expect(notification != nil)
      await server.group.triggerGracefulShutdown()
      while try await notifications.next() != nil {}
    }
  }

  @Test("A body over the limit is refused, and the connection stays open")
  func tooLarge() async throws {
    try await RunningServer.run(limits: .init(bodySize: 100_000)) { server in
      let transport = platformTransport()
      let remote = BothyRemote(url: server.url, space: "hut", transport: transport)
      let long = SyncOperation(
        id: "1", kind: .insert, record: RecordID(type: "T", id: "1"),
        fields: ["a": .string(String(repeating: "x", count: 1_000_000))])
      let error = await #expect(throws: RemoteError.self) {
        try await remote.exchange(SyncRequest(device: "d", operations: [long]))
      }
      #expect(error?.status == 413)
      let digest = try await remote.digest(.everything)
      #expect(digest.count == 0)
    }
  }

  @Test("Conditional requests and compressed responses work over the network")
  func wire() async throws {
    try await RunningServer.run { server in
      _ = try await server.remote().exchange(
        SyncRequest(device: "a", operations: (0..<100).map { insert("\($0)") }))
      let transport = platformTransport(compression: true)
      let address = server.url + "/v1/spaces/hut/containers/Todo"
      let first = try await transport.send(TransportRequest(.get, address))
      let tag = try #require(first.headers[.eTag])
      let again = try await transport.send(TransportRequest(.get, address, headers: [.ifNoneMatch: tag]))
      #expect(again.status == 304)
      #expect(again.body.isEmpty)
      let page = try await transport.send(TransportRequest(.get, server.url + "/v1/spaces/hut/changes"))
      #expect(page.headers[.contentEncoding] == "gzip")
      #expect(try JSONValue(parsing: page.body)["changes"]?.arrayValue?.count == 100)
      let small = platformTransport(compression: false, bodyLimit: 1000)
      let error = await #expect(throws: RemoteError.self) {
        try await small.send(TransportRequest(.get, server.url + "/v1/spaces/hut/changes"))
      }
      #expect(error?.code == "answerTooLarge")
    }
  }

  @Test("An unreachable address, an unknown name and an invalid URL are not refusals")
  func unreachable() async throws {
    let request = SyncRequest(device: "a")
    for (url, expected) in [
      ("http://127.0.0.1:1", RemoteError.Class.unreachable), ("http://nowhere.invalid", .unreachable),
      ("nonsense", .rejected),
    ] {
      let remote = BothyRemote(
        url: url, space: "hut", transport: platformTransport(), timeout: .seconds(5), allowsHTTP: true)
      let error = await #expect(throws: RemoteError.self) { try await remote.exchange(request) }
      #expect(error?.errorClass == expected, "\(url): \(String(describing: error))")
    }
  }

  @Test("A cancelled request ends at once with a cancellation")
  func cancellation() async throws {
    try await RunningServer.run { server in
      let remote = server.remote()
      let task = Task { () -> RemoteError? in
        do {
          for try await _ in remote.notifications() {}
          return nil
        } catch {
          return error as? RemoteError
        }
      }
      while !server.server.metrics.prometheusText.contains("bothy_event_streams 1") { await Task.yield() }
      task.cancel()
      _ = await task.value
      let cancelled = Task { () -> RemoteError? in
        withUnsafeCurrentTask { $0?.cancel() }
        do {
          _ = try await remote.exchange(SyncRequest(device: "a"))
          return nil
        } catch {
          return error as? RemoteError
        }
      }
      #expect(await cancelled.value?.code == "cancelled")
    }
  }
}
