import BothyStore
import Logging
import Synchronization

/// One sync from beginning to end: exchanges until no change is ready to be sent and no page is missing.
///
/// Each exchange is one transaction to make the batch, one round trip, and one transaction to apply the answer. After a
/// crash between any two of these the next sync continues.
struct SyncRunner: Sendable {
  let store: LocalStore
  let remote: any RemoteStorage
  private(set) var configuration: SyncOptions
  let clock: SyncClock
  let device: String
  let blobs: BlobFolder
  let governor: SyncConditions
  /// The account that the file belongs to. The server refuses requests that have a token of another user.
  let owner: AccountID?
  let followed: SubscribedScopes
  let lease = SyncLease()
  let heard = HeardScopes()
  let sent = SentValues()
  let retryClock = RetryClock()
  /// Orders the online-first saves of one record one after the other.
  let turns = KeyedSemaphore<RecordID>()
  /// Lets one sync at a time send pending changes. Another that runs beside it finds them settled.
  let sending = AsyncSemaphore()
  /// Called after each exchange and each part of a blob. Awaited pushes publish nothing.
  var progress: @Sendable (SyncStatus.Progress) -> Void = { _ in }

  struct Request: Sendable, Hashable {
    var scope: SyncDirection
    /// The scopes to pull; `nil` means all that are subscribed to when the sync begins.
    var pulls: [SyncScope]?
    /// The records to send, or `nil` for all that are ready.
    var records: [RecordID]?
    /// True if requests with these records are filled with other changes that are ready, unless a sync sends those.
    var isFilled = false
    /// True if entries that wait for a retry time are sent too.
    var ignoresRetryTimes = false
    /// The types whose changes are not sent.
    var heldTypes: Set<String> = []
    /// True if the sync ends before its next request when syncing is paused, or the network rules exclude the new
    /// network.
    var isGoverned = false
    /// True if nothing is sent before the server's history was compared with the file.
    var isComparing = false
    /// True if conflicts wait for pages. Nothing is sent before the pages of a pull that has begun are here.
    var waitsForPages = false
    /// The records whose conflicts were put off.
    var putOff: Set<RecordID> = []
    /// The records that no longer wait for blobs, or `nil` if it isn't known which wait.
    var arrived: Set<RecordID>?

    /// - Parameter isWhole: true if no page is missing.
    mutating func goOn(after step: Step, isWhole: Bool) {
      if isWhole { isComparing = false }
      waitsForPages = step.waitsForPages
      putOff.formUnion(step.putOff)
    }
  }

  /// Ends a sync that may not continue, and has the reason.
  struct Held: Error { var reason: SyncStop }

  /// Throws if the sync may not continue, before each request. That concerns governed syncs, cancelled tasks and
  /// signed-out accounts.
  func checkMayGoOn(_ request: Request) throws {
    try Task.checkCancellation()
    if governor.isShut { throw Held(reason: .signedOut) }
    if request.isGoverned, let obstacle = governor.obstacle { throw Held(reason: obstacle) }
  }

  /// Returns a request as it continues now, before each of its requests. A governed one leaves out the changes of types that
  /// the network rules hold back since. Throws like `checkMayGoOn`.
  func goingOn(_ request: Request) throws -> Request {
    try checkMayGoOn(request)
    var request = request
    if request.isGoverned { request.heldTypes = governor.heldTypes }
    return request
  }

  /// The number of exchanges without progress after which two parties probably keep undoing each other's changes.
  static let fruitlessLimit = 25
  static let noProgress = RemoteError(
    .serverError,
    "The server answers, and its answers bring the sync no further. Try again; if that stays so, look at the server's "
      + "log.", code: "noProgress")

  /// True if other processes may sync the file.
  var isShared: Bool { store.options.processes != .single }

  /// The results of one run.
  struct Ending: Sendable {
    var report = SyncReport()
    /// The subscribed scopes that a further run pulls too. Nothing of others is shown without them, because it may be a
    /// part of a transaction.
    var lacking: [SyncScope] = []
  }

  /// Runs the sync. Any error that ends it early is in the report, and completed work stays done.
  ///
  /// If neither side has changes, it makes one request and no commit. Otherwise each exchange makes one commit with the
  /// sent changes, if it sends any, and one with the answer's changes.
  ///
  /// - Parameter run: the row of the log that the exchanges keep up to date.
  func run(_ request: Request, _ run: SyncHistoryWriter.Running? = nil) async -> Ending {
    // Policies that are set meanwhile apply to the next sync.
    var runner = self
    runner.configuration = governor.inForce(configuration)
    return await runner.carryOut(request, run)
  }

  private func carryOut(_ request: Request, _ run: SyncHistoryWriter.Running?) async -> Ending {
    if isShared { await awaitLease() }
    lease.begin()
    let ending = await SyncBudget.$current.withValue(SyncBudget()) {
      var report = SyncReport()
      let lacking = await exchanges(request, &report, run)
      return Ending(report: report, lacking: lacking)
    }
    let report = ending.report
    // A sync that ended early may still hold the lease. If it isn't released, it expires.
    if lease.end() && lease.isHeld { try? await store.write(origin: .remote) { try lease.release(in: $0) } }
    await remember(report.stop)
    for failure in report.rejected {
      configuration.logger.notice(
        "The server rejected a change.",
        metadata: [
          "record": "\(failure.record)", "operation": "\(failure.operation)", "code": "\(failure.code)",
          "reason": "\(failure.message)",
        ])
    }
    return ending
  }

  /// Waits while another process syncs the file, for at most `maxWait`. After it both sync, which costs work and is
  /// harmless. Reads only, because the lease is acquired with the first write.
  private func awaitLease() async {
    var left = configuration.maxWait
    while left > .zero, !Task.isCancelled {
      let now = clock.now()
      // `nil` if no other process holds the lease. Unreadable: the exchange reports why.
      guard let end = try? await store.read({ try lease.end(ofOthersAt: now, in: $0) }) else { return }
      let wait = min(left, .milliseconds(max(1, min(100, end - now))))
      // Cancelled: the exchange reports it.
      try? await configuration.clock.sleep(for: wait)
      left -= wait
    }
  }

  /// Makes exchanges until the sync ends. Returns the scopes that must be pulled too.
  private func exchanges(
    _ request: Request, _ report: inout SyncReport, _ run: SyncHistoryWriter.Running?
  ) async -> [SyncScope] {
    var request = request
    var pulling = PullProgress(await pulls(for: request))
    var (due, fruitless, startedOver, comparisons) = (Int64.max, 0, false, 0)
    var uploads = BlobUploads(self, request)
    defer { report.blocked = uploads.followers.blocked(beside: report.blocked) }
    var wanted: Set<String> = []
    report.stop = await clearRetryTimes(for: request)
    if report.stop == nil { report.stop = await reasonToStayApart(&report) }
    if report.stop != nil { return [] }
    // All waits for blobs have ended with the retry times.
    if request.ignoresRetryTimes { request.arrived = [] }
    while true {
      do {
        request = try goingOn(request)
        // A change that is rejected during the sync isn't tried again by it, also if the clock is set back meanwhile.
        due = min(due, clock.now())
        let step = try await exchange(request, &pulling, due: due, &report, run)
        uploads.add(step.batch)
        uploads.tell(report)
        request.arrived = uploads.takeArrived()
        if !step.lacking.isEmpty { return step.lacking }
        request.goOn(after: step, isWhole: pulling.open.isEmpty)
        wanted.formUnion(step.wantedBlobs)
        fruitless = step.madeProgress ? 0 : fruitless + 1
        if fruitless > Self.fruitlessLimit { throw Self.noProgress }
        // Blobs travel after everything else, a few parts at a time, so that other work doesn't wait for them.
        guard step.isDone else { continue }
        if try await refetch(pulling.scopes, request, &report) {
          pulling.reopen()
          continue
        }
        let requests = report.requests
        guard try await uploads.advance(&report) else {
          if !wanted.isEmpty { try await BlobHealing(runner: self).run(wanted, request, &report) }
          for scope in report.rebased { try await verify(scope, &report) }
          return []
        }
        request.arrived?.formUnion(uploads.takeArrived())
        if report.requests > requests { fruitless = 0 }
      } catch let error as RemoteError
        where error.code == BoundRemote.otherHistory && !request.isComparing && comparisons < 3
      {
        (request.isComparing, request.arrived, comparisons) = (true, nil, comparisons + 1)
        pulling = PullProgress(await pulls(for: request))
      } catch {
        if let error = error as? RemoteError, error.isUnknownCursor, !startedOver, !pulling.scopes.isEmpty {
          (startedOver, request.arrived) = (true, nil)
          if await startOver(pulling.scopes) {
            pulling.reopen()
            continue
          }
        }
        end(&report, by: error)
        return []
      }
    }
  }

  /// Notes in the report why a sync ended early.
  private func end(_ report: inout SyncReport, by error: any Error) {
    switch error {
    case let loss as HistoryLoss: report.stop = .otherServer(ServerHistory.loss(loss.count))
    case let error as RemoteError:
      report.stop = Task.isCancelled ? .cancelled : SyncStop(error)
      report.retryAfter = error.retryAfter
      // A server that has lost its database meanwhile doesn't know what became of the request. 429 refuses it.
      report.mayBeMade = error.status == 503 ? true : nil
    case let held as Held: report.stop = held.reason
    default: report.stop = Self.reason(for: error)
    }
  }

  /// Returns the reason of a sync that could not continue here. A cancelled task may end with a store's own error.
  static func reason(for error: any Error) -> SyncStop {
    Task.isCancelled || error is CancellationError ? .cancelled : .refused(code: SyncStop.local, "\(error)")
  }

  /// Makes entries ready that have a retry time in the future. If the request doesn't ignore these, they are entries that
  /// no wait delays so long, because the clock was set back since. Returns the reason if that failed.
  private func clearRetryTimes(for request: Request) async -> SyncStop? {
    do {
      if request.ignoresRetryTimes {
        try await store.write(origin: .remote) {
          try OutboxQueue.clearRetryTimes(of: request.records, in: $0)
        }
        return nil
      }
      let now = clock.now()
      guard retryClock.mayBeBehind(at: now) else { return nil }
      let limit = now.addingClamped(configuration.backoff.limit.wholeMilliseconds)
      if try await store.read({ try OutboxQueue.hasRetryTimes(after: limit, in: $0) }) {
        try await store.write(origin: .remote) { try OutboxQueue.clearRetryTimes(after: limit, in: $0) }
      }
      return nil
    } catch { return Self.reason(for: error) }
  }

  /// Remembers that the server requires a newer version of the app. It is remembered across relaunches, until the
  /// schema's version rises or a forced sync gets another answer.
  private func remember(_ reason: SyncStop?) async {
    let message: String? = if case .updateRequired(let words) = reason { words } else { nil }
    guard reason == nil || message != nil, governor.updateRequired != message else { return }
    governor.updateRequired = message
    let version = store.schema.version
    // If this isn't stored, the server is asked again after a relaunch, which is harmless.
    try? await store.write(origin: .remote) { try SyncValues.setUpdateRequired(message, at: version, in: $0) }
  }
}

/// The scopes that a sync pulls, and its requests beside pages.
extension SyncRunner {
  /// Returns the scopes that a request names, or all subscribed ones.
  func requested(_ request: Request) -> [SyncScope] { request.pulls ?? followed.current }

  /// Returns the scopes of a request, and the containers in them that must be pulled again. A push pulls only to
  /// compare the file with another history.
  func pulls(for request: Request) async -> [SyncScope] {
    if request.pulls?.isEmpty == true { return [] }
    // Unreadable: the exchange reports why.
    let found = try? await store.read { transaction -> (scopes: [SyncScope], more: [SyncScope]) in
      // Another store on the file may have changed what it follows.
      if isShared, let stored = try SubscriptionTable.stored(in: transaction) { followed.current = stored }
      let scopes = requested(request)
      // Scopes that were pulled on demand are compared too.
      let isDeciding = try request.isComparing || ServerBinding.isAdopting(in: transaction)
      if request.scope == .push && !isDeciding { return ([], []) }
      let pulled = isDeciding && request.pulls == nil ? try PullState.scopes(in: transaction) : []
      return (scopes, try Refetch.containers(in: scopes, in: transaction) + pulled)
    }
    guard let (scopes, more) = found else { return request.scope == .push ? [] : requested(request) }
    return scopes + more.filter { !scopes.contains($0) }
  }

  /// Returns the scopes that a further run of a sync pulls. Leaves out one whose subscription ended between the runs,
  /// because a pull would bring its records back.
  func remaining(_ scopes: [SyncScope]) async -> [SyncScope] {
    // Unreadable: the exchange reports why.
    guard let known = try? await store.read({ try Set(PullState.scopes(in: $0)) }) else { return scopes }
    let subscribed = followed.current
    return scopes.filter { known.contains($0) || subscribed.contains($0) }
  }

  /// Sends an empty request to see which server answers, for a file that is kept apart. Returns `nil` after its own
  /// server has answered.
  func reasonToStayApart(_ report: inout SyncReport) async -> SyncStop? {
    guard (try? await store.read({ try ServerBinding.load(in: $0).isApart })) ?? false else { return nil }
    do {
      try checkMayGoOn(Request(scope: .both))
      report.requests += 1
      _ = try await remote.exchange(SyncRequest(device: device, schemaVersion: store.schema.version))
      // If this isn't stored, the next sync repeats the request.
      try? await store.write(origin: .remote) { try ServerBinding.setApart(false, in: $0) }
      return nil
    } catch let error as RemoteError {
      let reason = SyncStop(error)
      if case .otherServer = reason { return .otherServer(ServerHistory.apart) }
      return reason
    } catch { return .cancelled }
  }

  /// Requests the records that are missing here. Returns true if the scopes must be pulled once more. That is so if a
  /// fetched record is newer than the last pull, or if the server doesn't support such requests.
  func refetch(
    _ scopes: [SyncScope], _ request: Request, _ report: inout SyncReport
  ) async throws -> Bool {
    guard !scopes.isEmpty else { return false }
    let isWhole = followed.current.allSatisfy(scopes.contains)
    let refetching = Refetching(store: store, remote: remote, scopes: scopes, isWhole: isWhole) {
      try checkMayGoOn(request)
    }
    let done = try await refetching.run()
    report.requests += done.requests
    report.pulled += done.pulled
    if done.needsPull { return true }
    guard done.position > 0 else { return false }
    return try await store.read { transaction in
      try scopes.contains { scope in
        let cursor = try PullState.load(scope, in: transaction).cursor.flatMap(Cursor.init(token:))
        return cursor.map { $0.position < done.position } ?? false
      }
    }
  }

  /// Has the scopes pulled from the start, because the server doesn't know their cursors. Returns false if that can't
  /// be stored.
  func startOver(_ scopes: [SyncScope]) async -> Bool {
    // If this isn't stored, the sync ends with the server's error.
    let done: Void? = try? await store.write(origin: .remote) { transaction in
      for scope in scopes { try PullState.reset(scope, in: transaction) }
    }
    return done != nil
  }

  /// Compares a scope with the server after it was downloaded again.
  func verify(_ scope: SyncScope, _ report: inout SyncReport) async throws {
    do { try await compare(scope, &report) } catch let error as RemoteError {
      // The scope is complete; `repair` can be called at any time.
      configuration.logger.notice("A scope was not compared.", metadata: ["reason": "\(error.message)"])
    }
  }

  private func compare(_ scope: SyncScope, _ report: inout SyncReport) async throws {
    let cursor = try await store.read { try PullState.load(scope, in: $0).cursor }
    let position = cursor.flatMap { Cursor(token: $0)?.position }
    let found = try await Comparison(store: store, remote: remote, scope: scope, position: position).repair()
    report.requests += found.requests
    report.repaired += found.repaired.count
  }
}

/// The allowance that all requests of one sync share: to request another token once. A remote looks it up in the task
/// that calls it.
package final class SyncBudget: Sendable {
  @TaskLocal package static var current: SyncBudget?

  private let mayRefreshToken = Mutex(true)

  package init() {}

  /// Returns true the first time.
  package func takeTokenRefresh() -> Bool {
    mayRefreshToken.withLock { may in
      defer { may = false }
      return may
    }
  }
}
