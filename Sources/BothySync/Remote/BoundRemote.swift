import BothyStore
import Synchronization

// The wrappers of the app's remote that every call passes: the file's own server, time limits, reachability and wire
// names.

/// The server of one file. Sends the history that the file has followed with each exchange, and accepts no answer of
/// another server or space. A file that is signed out or deleted sends nothing. Limits the time of each call, and notes
/// if an answer arrived.
struct BoundRemote: CompleteRemote {
  let remote: any RemoteStorage
  let store: LocalStore
  let reachability: ReachabilityEstimate
  let clock: SyncClock
  /// The time limit of a call.
  let limit: Duration
  private let known = KnownBinding()

  /// The binding that was last read, for a file that can't be read at the moment.
  private final class KnownBinding: Sendable {
    let last = Mutex(ServerBinding())
  }

  private func binding() async -> ServerBinding {
    guard let binding = try? await store.read({ try ServerBinding.load(in: $0) }) else {
      return known.last.withLock { $0 }  // unreadable: the caller says why, or does without the file
    }
    known.last.withLock { $0 = binding }
    return binding
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let binding = await binding()
    guard !binding.isSignedOut, !store.file.isGone else { throw Self.signedOut }
    var request = request
    request.history = binding.history
    request.user = request.user ?? binding.owner?.user
    let sent = request
    let response = try await reachability.noting(within: limit, clock) { () throws(RemoteError) in
      try await remote.exchange(sent)
    }
    guard let found = response.history else { return response }
    if let history = binding.history {
      guard history.server == found.server, history.space == found.space else {
        throw RemoteError(.rejected, history.refusal(found), code: Self.otherServer)
      }
      if request.pulls.isEmpty && !history.isContinued(by: found) {
        throw Self.uncompared
      }
    }
    let isNew = binding.history?.epoch.isEmpty ?? true
    guard isNew && binding.history != found || binding.owner == nil && response.user != nil else {
      return response
    }
    // If this isn't noted, the next answer is.
    try? await store.write(origin: .remote) { try ServerBinding.bind(found, response.user, in: $0) }
    return response
  }

  /// Verifies that the server is the file's own, before records that it lacks count as deleted. One round trip if the
  /// file is bound. Throws `RemoteError`.
  func verify() async throws(RemoteError) {
    guard await binding().history != nil, let device = try? await store.read(Self.device) else { return }
    _ = try await exchange(SyncRequest(device: device, schemaVersion: store.schema.version))
  }

  private static func device(_ transaction: ReadTransaction) throws -> String {
    try SyncValues.value("device", in: transaction) ?? ""
  }

  static let otherServer = "otherServer"
  static let otherHistory = "otherHistory"
  /// The error of operations for a server whose history the file must be compared with first.
  static let uncompared = RemoteError(.rejected, "The server's history is another one.", code: otherHistory)
  static let signedOutCode = "signedOut"
  private static let signedOut = RemoteError(
    .rejected, "The account of this file was signed out.", code: signedOutCode)

  var isConfidential: Bool { remote.isConfidential }
  var hasNotifications: Bool { remote.hasNotifications }
  var blobs: (any BlobRemote)? { remote.blobs.map { BoundBlobs(remote: $0, file: self) } }

  /// Calls the server in the name of the file, so that an answer about another file's space or user isn't accepted.
  func asking<Answer: Sendable>(
    _ body: @escaping @Sendable () async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    let binding = await binding()
    guard !binding.isSignedOut, !store.file.isGone else { throw Self.signedOut }
    let answer: Result<Answer, RemoteError> = await FileIdentity.$current.withValue(FileIdentity(binding)) {
      do throws(RemoteError) {
        return .success(try await reachability.noting(within: limit, clock, body))
      } catch {
        return .failure(error)
      }
    }
    return try answer.get()
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await asking { () throws(RemoteError) in try await remote.query(query) }
  }
  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try await asking { () throws(RemoteError) in try await remote.page(query, after: cursor) }
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await asking { () throws(RemoteError) in try await remote.count(query) }
  }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await asking { () throws(RemoteError) in try await remote.digest(scope) }
  }
  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await asking { () throws(RemoteError) in try await remote.digest(scope, parts: parts) }
  }
  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    try await asking { () throws(RemoteError) in try await remote.stamps(scope, parts: parts, in: chosen) }
  }
  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try await asking { () throws(RemoteError) in try await remote.history(query) }
  }
  func joinedLists() async throws(RemoteError) -> [JoinedList] {
    try await asking { () throws(RemoteError) in try await remote.joinedLists() }
  }
  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}

extension FileIdentity {
  fileprivate init(_ binding: ServerBinding) {
    self.init(
      server: binding.history?.server, space: binding.history?.space, user: binding.owner?.user)
  }
}

/// A remote that is called with the names of this device's schema, while the wire has its own. Names change here alone.
/// All local code, and everything in the file, uses the schema's names.
package struct NamingRemote: CompleteRemote {
  private let remote: any RemoteStorage
  private let names: WireNames
  private let schema: StoreSchema

  package init(_ remote: any RemoteStorage, _ schema: StoreSchema) {
    self.remote = remote
    self.schema = schema
    names = WireNames(schema)
  }

  package func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    if names.isPlain { return try await remote.exchange(request) }
    return names.local(try await remote.exchange(names.wire(request)), to: request)
  }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    let found = try await remote.query(named(query))
    return names.isPlain ? found : found.map(names.local)
  }

  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    var page = try await remote.page(named(query), after: cursor)
    if !names.isPlain { page.records = page.records.map(names.local) }
    return page
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await remote.count(named(query))
  }

  /// A server without a schema can't know that `created` isn't a field of the type, so a mark in front of the name
  /// shows it.
  private func named(_ query: AnyQuery) -> AnyQuery {
    guard let type = schema[query.type] else { return names.wire(query) }
    return names.wire(
      query.renamingFields { name in
        type[name] == nil && QueryField.pseudo(name)?.isMetadata == true && !name.hasPrefix("_")
          ? "_" + name : name
      })
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope)))
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope), parts: parts))
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    try await remote.stamps(names.wire(scope), parts: parts, in: chosen)?.map { stamp in
      var stamp = stamp
      stamp.id = names.local(stamp.id)
      return stamp
    }
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    names.local(try await remote.history(names.wire(query)))
  }

  package func joinedLists() async throws(RemoteError) -> [JoinedList] { try await remote.joinedLists() }

  package var isConfidential: Bool { remote.isConfidential }
  package var hasNotifications: Bool { remote.hasNotifications }
  package var blobs: (any BlobRemote)? { remote.blobs }
  package func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}

/// The estimate of the server's reachability. It comes from the last call's success or failure or from the system's
/// report on the network, whichever was later.
final class ReachabilityEstimate: Sendable {
  private struct State {
    /// `nil` before the first call and report.
    var isReachable: Bool?
    /// In milliseconds since 1970, by the device's clock.
    var heard: Int64?
  }

  private let state = Mutex(State())
  private let changes = Broadcast<Bool?>()

  func hear(_ isReachable: Bool?, at now: Int64) {
    let isNew = state.withLock { state in
      defer { state = State(isReachable: isReachable, heard: now) }
      return state.isReachable != isReachable
    }
    if isNew { changes.send(state.withLock { $0.isReachable }) }
  }

  func hint(at now: Int64) -> ReachabilityHint {
    let state = state.withLock { $0 }
    return ReachabilityHint(
      isReachable: state.isReachable, age: state.heard.map { .milliseconds(max(0, now - $0)) })
  }

  /// Runs a call within a time limit and notes its result. A cancelled call has none, and any answer, also a rejection,
  /// shows that the server is there.
  func noting<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    do {
      let value = try await Bounded.request(within: limit, clock, call)
      hear(true, at: clock.now())
      return value
    } catch {
      if !Task.isCancelled {
        hear(error.errorClass != .unreachable, at: clock.now())
      }
      throw error
    }
  }

  func values() -> AsyncStream<Bool?> {
    changes.values(startingWith: state.withLock { $0.isReachable })
  }
}

/// The estimate of the server's reachability, and its age. Advice for screens and background work: an explicit call
/// ignores it.
package struct ReachabilityHint: Sendable, Hashable {
  /// True if the server was reachable by the last call or the system's report, or `nil` before either.
  package var isReachable: Bool?
  /// The time since the last call was answered or failed, or the network changed. `nil` before the first of these.
  package var age: Duration?

  /// Creates the hint that `SyncedStore.reachabilityHint` returns.
  package init(isReachable: Bool?, age: Duration?) {
    self.isReachable = isReachable
    self.age = age
  }
}

/// Waiting with a time limit.
enum Bounded {
  /// Returns the result of `body` within `limit`, or `nil` if the time is over or the caller is cancelled. Then `body`
  /// is cancelled and not awaited.
  static func run<Value: Sendable>(
    within limit: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
    _ body: @escaping @Sendable () async -> Value
  ) async -> Value? {
    let (answers, answer) = AsyncStream<Value?>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let asked = Task { answer.yield(await body()) }
    let timer = Task {
      // Cancelled means that the answer has arrived.
      guard (try? await sleep(limit)) != nil else { return }
      answer.yield(nil)
    }
    defer {
      asked.cancel()
      timer.cancel()
    }
    var iterator = answers.makeAsyncIterator()
    return await iterator.next() ?? nil
  }

  /// Like `run(within:sleep:_:)`, but for a call of a remote. A silent server counts as one that can't be reached.
  static func request<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    let result: Result<Value, RemoteError>? = await run(within: limit, sleep: clock.sleep) {
      do throws(RemoteError) { return .success(try await call()) } catch { return .failure(error) }
    }
    if let result { return try result.get() }
    if Task.isCancelled { throw RemoteError(.unreachable, "The request was cancelled.", code: "cancelled") }
    throw RemoteError(
      .unreachable,
      "The server gave no answer within \(limit). Try again later.",
      code: "timeout")
  }
}
