import BothyStore
import Synchronization

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
        throw RemoteError(.rejected, "The server's history is another one.", code: Self.otherHistory)
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
  static let signedOutCode = "signedOut"
  private static let signedOut = RemoteError(
    .rejected, "The account of this file was signed out.", code: signedOutCode)

  var isConfidential: Bool { remote.isConfidential }
  var hasNotifications: Bool { remote.hasNotifications }
  var blobs: (any BlobRemote)? { remote.blobs.map { BoundedBlobs(remote: $0, limit: limit, clock: clock) } }

  /// Calls the server in the name of the file, so that an answer about another file's space or user isn't accepted.
  private func asking<Answer: Sendable>(
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
  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}

extension FileIdentity {
  fileprivate init(_ binding: ServerBinding) {
    self.init(
      server: binding.history?.server, space: binding.history?.space, user: binding.owner?.user)
  }
}

/// The estimate of the server's reachability, and its age. Advice for screens and background work: an explicit call
/// ignores it.
package struct ReachabilityHint: Sendable, Hashable {
  /// The status by the last call or the system's report, or `.unknown` before either.
  package var reachability: SyncStatus.NetworkStatus
  /// The time since the last call was answered or failed, or the network changed. `nil` before the first of these.
  package var age: Duration?

  /// Creates the hint that `SyncedStore.reachabilityHint` returns.
  package init(reachability: SyncStatus.NetworkStatus, age: Duration?) {
    self.reachability = reachability
    self.age = age
  }
}

/// The estimate of the server's reachability. It comes from the last call's success or failure or from the system's
/// report on the network, whichever was later.
final class ReachabilityEstimate: Sendable {
  private struct State {
    var status = SyncStatus.NetworkStatus.unknown
    /// In milliseconds since 1970, by the device's clock.
    var heard: Int64?
  }

  private let state = Mutex(State())
  private let changes = Broadcast<SyncStatus.NetworkStatus>()

  func hear(_ status: SyncStatus.NetworkStatus, at now: Int64) {
    let isNew = state.withLock { state in
      defer { state = State(status: status, heard: now) }
      return state.status != status
    }
    if isNew { changes.send(status) }
  }

  func hint(at now: Int64) -> ReachabilityHint {
    let state = state.withLock { $0 }
    return ReachabilityHint(
      reachability: state.status, age: state.heard.map { .milliseconds(max(0, now - $0)) })
  }

  /// Runs a call within a time limit and notes its result. A cancelled call has none, and any answer, also a rejection,
  /// shows that the server is there.
  func noting<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    do {
      let value = try await Bounded.request(within: limit, clock, call)
      hear(.reachable, at: clock.now())
      return value
    } catch {
      if !Task.isCancelled {
        hear(error.errorClass == .unreachable ? .notReachable : .reachable, at: clock.now())
      }
      throw error
    }
  }

  func values() -> AsyncStream<SyncStatus.NetworkStatus> {
    changes.values(startingWith: state.withLock { $0.status })
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

/// The binding of a file to its server, which decides if the file may still be synced.
struct ServerBinding: Sendable, Equatable {
  /// The history that the file followed, with its highest known position, or `nil` before the first answer.
  var history: ServerHistory?
  /// The user whose file it is.
  var owner: AccountID?
  /// True from the moment at which the pending changes were exported or given up.
  var isSignedOut = false
  /// The decision about the next complete answer, whatever local records it lacks.
  var decision: Decision?
  /// The history that was given up by that decision.
  var former: ServerHistory?
  /// True if the decision was made that the file stays with the server that it was synced with.
  var isApart = false

  /// True if the next server that answers is the file's from then on.
  var isAdopting: Bool { decision != nil }

  /// The history that the local versions come from. While a decision is carried out, the file may already be bound to
  /// the server that answers.
  var followed: ServerHistory? { isAdopting ? former : history }

  /// A cursor that no page continues, by which the server of another history says so.
  var followedCursor: String? {
    followed.map { Cursor(epoch: $0.epoch, position: $0.position, scopeMark: "").token }
  }

  /// The decision about local records that the next server lacks. The raw values are those of the file.
  enum Decision: String, Sendable {
    /// They are removed.
    case adopt = "1"
    /// They become pending work.
    case uploadMine = "upload"
  }

  private static let server = "history.server"
  private static let space = "history.space"
  private static let epoch = "history.epoch"
  private static let adopting = "history.adopting"
  private static let former = "history.former"
  private static let apart = "history.apart"
  static let signedOut = "signedOut"
  private static let reached = "history.reached"

  static func load(in transaction: ReadTransaction) throws -> ServerBinding {
    var binding = ServerBinding()
    binding.owner = try FileOwner.stored(in: transaction)
    binding.isSignedOut = try isSignedOut(in: transaction)
    binding.decision = try SyncValues.value(adopting, in: transaction).map {
      Decision(rawValue: $0) ?? .adopt
    }
    binding.isApart = try SyncValues.value(apart, in: transaction) != nil
    binding.former = try SyncValues.value(former, in: transaction).flatMap(Self.history)
    guard let server = try SyncValues.value(server, in: transaction),
      let space = try SyncValues.value(space, in: transaction)
    else { return binding }
    let epoch = try SyncValues.value(epoch, in: transaction) ?? ""
    let position = try reached(epoch, in: transaction)
    binding.history = ServerHistory(server: server, space: space, epoch: epoch, position: position ?? 0)
    return binding
  }

  /// Returns the highest known position of a history, also by cursors that were given up since.
  private static func reached(_ epoch: String, in transaction: ReadTransaction) throws -> Int64? {
    let noted = try SyncValues.value(reached, in: transaction).flatMap(Cursor.init(token:))
    var known = try cursors(in: transaction)
    if let noted { known.append(noted) }
    return known.filter { $0.epoch == epoch }.map(\.position).max()
  }

  /// Notes the position of a cursor that is given up.
  static func note(_ token: String?, in transaction: WriteTransaction) throws {
    guard let cursor = token.flatMap(Cursor.init(token:)) else { return }
    let known = try reached(cursor.epoch, in: transaction) ?? -1
    let highest = Cursor(epoch: cursor.epoch, position: max(cursor.position, known), scopeMark: "")
    try SyncValues.set(reached, highest.token, in: transaction)
  }

  private static func cursors(in transaction: ReadTransaction) throws -> [Cursor] {
    try PullState.all(in: transaction).compactMap { $0.cursor.flatMap(Cursor.init(token:)) }
  }

  /// Binds a file that was bound to nothing. A file that was synced before files were bound keeps the epoch of its
  /// cursors.
  static func bind(_ found: ServerHistory, _ user: String?, in transaction: WriteTransaction) throws {
    let known = try load(in: transaction)
    if known.owner == nil, let user {
      _ = try FileOwner.bind(AccountID(space: found.space, user: user), in: transaction)
    }
    guard known.history?.epoch.isEmpty ?? true else { return }
    var history = found
    if known.history == nil, !known.isAdopting,
      let epoch = try cursors(in: transaction).map(\.epoch).max(), !epoch.isEmpty
    {
      history.epoch = epoch
    }
    try save(history, in: transaction)
  }

  private static func save(_ history: ServerHistory, in transaction: WriteTransaction) throws {
    try SyncValues.set(server, history.server, in: transaction)
    try SyncValues.set(space, history.space, in: transaction)
    try SyncValues.set(epoch, history.epoch, in: transaction)
  }

  /// Binds a file to the history of another file, whose pending work it takes over. A file that is bound, or adopts the
  /// next history, stays as it is.
  static func inherit(_ history: ServerHistory?, in transaction: WriteTransaction) throws {
    let known = try load(in: transaction)
    guard let history, known.history == nil, !known.isAdopting else { return }
    try save(history, in: transaction)
  }

  /// Notes that the local records have been compared with a history, which the file follows from now on.
  static func take(_ history: ServerHistory?, in transaction: WriteTransaction) throws {
    if let history {
      if try SyncValues.value(epoch, in: transaction) != history.epoch {
        try ReplacedFields.forgetAll(in: transaction)
      }
      try save(history, in: transaction)
    }
    for key in [adopting, former, reached] { try SyncValues.remove(key, in: transaction) }
  }

  /// Gives up the history that the file followed, and adopts the next one that answers. An earlier decision that wasn't
  /// carried out no longer counts. The cursors stay, so that the server says if it has that history. Then it has lost
  /// nothing.
  static func decide(_ decision: Decision, in transaction: WriteTransaction) throws {
    if let history = try load(in: transaction).followed {
      var writer = JSONWriter()
      history.write(to: &writer)
      try SyncValues.set(former, String(decoding: writer.bytes, as: UTF8.self), in: transaction)
    }
    for key in [server, space, epoch, apart, reached] { try SyncValues.remove(key, in: transaction) }
    try SyncValues.set(adopting, decision.rawValue, in: transaction)
    try ReplacedFields.forgetAll(in: transaction)
  }

  /// Decides that the file stays as it is, until the server that it was synced with answers.
  static func setApart(_ isApart: Bool, in transaction: WriteTransaction) throws {
    guard isApart else { return try SyncValues.remove(apart, in: transaction) }
    try SyncValues.set(apart, "1", in: transaction)
  }

  private static func history(_ text: String) -> ServerHistory? {
    // Text that can't be read counts as no known history.
    try? JSONReader.read(Array(text.utf8)) { try ServerHistory(from: &$0) }
  }

  static func signOut(in transaction: WriteTransaction) throws {
    try SyncValues.set(signedOut, "1", in: transaction)
  }

  static func isAdopting(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(adopting, in: transaction) != nil
  }

  static func isSignedOut(in transaction: ReadTransaction) throws -> Bool {
    try SyncValues.value(signedOut, in: transaction) != nil
  }
}

extension ServerHistory {
  /// The message for a file that is kept apart from another server.
  static let apart =
    "The file is kept apart from the server that answers. It can be read and written; nothing is sent or removed."

  /// Returns the message that the server lacks `lost` records which the file has from it.
  static func loss(_ lost: Int) -> String {
    "The server was restored or emptied: it lacks \(lost) record\(lost == 1 ? "" : "s") "
      + "that this file has from it, or newer versions of them. Nothing was sent or removed."
  }
}
