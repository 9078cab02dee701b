import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

@Suite("Requests that Kinto refuses as a whole", .timeLimit(.minutes(5)))
struct KintoRefusalTests {
  private let request = SyncRequest(device: "d1", pulls: [.init(.everything)])

  private func error(
    _ answer: ScriptedKinto.Answer, _ request: SyncRequest? = nil
  ) async -> RemoteError? {
    let kinto = ScriptedKinto { _ in answer }
    return await #expect(throws: RemoteError.self) {
      try await KintoRemote(kinto).exchange(request ?? self.request)
    }
  }

  /// Promises: N-11
  @Test("Statuses become the error classes of all remotes")
  func classes() async {
    #expect(await error(.error(401))?.errorClass == .unauthenticated)
    #expect(await error(.error(500))?.errorClass == .serverError)
    #expect(await error(.error(503))?.errorClass == .unreachable)
    #expect(await error(.error(400))?.errorClass == .rejected)
    let end = await error(
      .error(410, headers: ["Alert": #"{"code":"hard-eol","message":"Moved.","url":"x"}"#]))
    #expect(end?.code == "endOfService")
    #expect(end?.errorClass == .rejected)
    #expect(end?.message.contains("Moved.") == true)
    #expect(await error(.init(body: ["data": 5]))?.code == "badAnswer")
  }

  /// Promises: H-42
  @Test("Retry-After and Backoff delay all requests until the time has passed")
  func throttled() async throws {
    let time = VirtualTime()
    let kinto = ScriptedKinto { _ in .error(503, headers: ["Retry-After": "30"]) }
    let remote = KintoRemote(kinto, now: time.reader())
    let first = await #expect(throws: RemoteError.self) { try await remote.exchange(request) }
    #expect(first?.errorClass == .throttled)
    #expect(first?.retryAfter == 30)
    kinto.setScript { _ in .data([], at: 5) }
    kinto.forgetCalls()
    time.advance(by: 20_000)
    let second = await #expect(throws: RemoteError.self) { try await remote.exchange(request) }
    #expect(second?.errorClass == .throttled)
    #expect(second?.retryAfter == 10)
    #expect(kinto.calls.isEmpty)
    time.advance(by: 10_000)
    kinto.setHeaders(["Backoff": "60"])
    _ = try await remote.exchange(request)
    let third = await #expect(throws: RemoteError.self) { try await remote.count(AnyQuery("Todo")) }
    #expect(third?.retryAfter == 60)
  }

  @Test("A 429 within a batch throttles, and no operation counts as rejected")
  func throttledWithin() async {
    let operations = (0..<3).map {
      SyncOperation(id: "o\($0)", kind: .insert, record: RecordID(type: "Todo", id: "t\($0)"))
    }
    let error = await error(
      .error(429, headers: ["Retry-After": "7"]), SyncRequest(device: "d1", operations: operations))
    #expect(error?.errorClass == .throttled)
    #expect(error?.retryAfter == 7)
  }

  @Test("A read-only server fails before a write is sent, and can be read")
  func readOnly() async throws {
    let kinto = ScriptedKinto { _ in .data([], at: 5) }
    kinto.setSettings(["batch_max_requests": 25, "readonly": true])
    let operation = SyncOperation(id: "o", kind: .insert, record: RecordID(type: "Todo", id: "t"))
    let error = await #expect(throws: RemoteError.self) {
      try await KintoRemote(kinto).exchange(SyncRequest(device: "d1", operations: [operation]))
    }
    #expect(error?.code == "readOnly")
    #expect(kinto.calls.isEmpty)
    #expect(try await KintoRemote(kinto).exchange(request).pages.count == 1)
  }

  @Test("User and password are sent as basic authentication")
  func basic() async throws {
    let kinto = ScriptedKinto { _ in .data([], at: 5) }
    _ = try await KintoRemote(kinto, credentials: .basic(user: "ada", password: "p:w")).query(
      AnyQuery("Todo"))
    #expect(kinto.calls.first?.headers["authorization"] == "Basic YWRhOnA6dw==")
  }

  @Test("A refused token, alone or within a batch, is requested again once")
  func bearer() async throws {
    let kinto = ScriptedKinto { call in
      call.path.contains("_sort=id") && call.headers["authorization"] == "Bearer old"
        ? .error(401, 104) : .data([], at: 5)
    }
    let asked = Mutex(0)
    let remote = KintoRemote(
      kinto,
      credentials: .bearer {
        asked.withLock { asked in
          asked += 1
          return asked == 1 ? "old" : "new"
        }
      })
    _ = try await remote.exchange(request)
    #expect(asked.withLock { $0 } == 2)
    #expect(kinto.calls.last?.headers["authorization"] == "Bearer new")
  }

  @Test("Full-text search without a schema fails with a reason")
  func notSupported() async {
    let kinto = ScriptedKinto { _ in .data([], at: 5) }
    let error = await #expect(throws: RemoteError.self) {
      try await KintoRemote(kinto).query(AnyQuery("Todo", where: .matches("milk")))
    }
    #expect(error?.errorClass == .rejected)
    #expect(error?.code == "invalidQuery")
  }

  /// Promises: N-10
  @Test("A device with a poll interval checks for changes without notifications")
  func polling() async throws {
    var options = KintoOptions()
    options.pollInterval = .milliseconds(1)
    var notifications = KintoRemote(ScriptedKinto(), options: options).notifications().makeAsyncIterator()
    #expect(try await notifications.next() != nil)
    #expect(try await notifications.next() != nil)
  }
}
