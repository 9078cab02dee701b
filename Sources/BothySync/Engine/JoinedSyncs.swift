import Synchronization

/// The syncs that run or wait for their turn, by their requests, and the callers that wait for the report of each.
final class JoinedSyncs: Sendable {
  private struct Callers {
    /// Those that have joined so far, also those that were cancelled since.
    var total = 0
    var waiting: [Wait<SyncReport>] = []
  }

  private let syncs = Mutex<[SyncRunner.Request: Callers]>([:])

  var isEmpty: Bool { syncs.withLock { $0.isEmpty } }
  /// The number of callers that wait for the reports of others' syncs.
  var waitingCount: Int { syncs.withLock { $0.values.reduce(0) { $0 + $1.waiting.count } } }

  /// Returns the report of the sync that has this request. Returns `nil`, after noting the sync, if there is none. A
  /// caller that is cancelled gets a report that says so at once.
  func join(_ request: SyncRunner.Request) async -> SyncReport? {
    let wait = Wait<SyncReport>()
    let isFirst = syncs.withLock { syncs in
      guard syncs[request] != nil else {
        syncs[request] = Callers()
        return true
      }
      // A cancelled caller leaves at once.
      if Task.isCancelled { return false }
      syncs[request]?.total += 1
      syncs[request]?.waiting.append(wait)
      return false
    }
    if isFirst { return nil }
    do {
      return try await wait.value { [self] in
        syncs.withLock { syncs -> Void in syncs[request]?.waiting.removeAll { $0 === wait } }
      }
    } catch { return SyncReport(stop: .cancelled) }  // No sync ends with an error.
  }

  /// Returns the number of callers that have joined a sync so far.
  func total(_ request: SyncRunner.Request) -> Int { syncs.withLock { $0[request]?.total ?? 0 } }

  /// Ends the sync and returns the callers that wait for it. Returns `nil`, with nothing done, if more than `known` have
  /// joined, because their new writes must be checked.
  func end(_ request: SyncRunner.Request, unlessMoreThan known: Int = .max) -> [Wait<SyncReport>]? {
    syncs.withLock { syncs in
      guard syncs[request]?.total ?? 0 <= known else { return nil }
      return syncs.removeValue(forKey: request)?.waiting ?? []
    }
  }
}

/// One sync of the engine. It takes a further run if entries were written meanwhile, or with more scopes if what has
/// arrived may be a part of a transaction.
struct RunningSync: Sendable {
  /// The request, as callers join it.
  let request: SyncRunner.Request
  /// True if callers may join it. Otherwise the caller is inside a lock.
  let isJoined: Bool
  /// The request of the next run.
  private var next: SyncRunner.Request
  /// The results so far.
  var report = SyncReport()
  /// The scopes that the next run pulls too. The sync ends only if there are none.
  private(set) var lacking: [SyncScope] = []
  /// True if a further run is worth a try for callers that have joined.
  private(set) var mayGoOn = true
  /// The sync's number in the engine and its row of the log, from its first run on.
  var number: Int?
  var running: SyncHistoryWriter.Running?
  private var hasRun = false
  /// True if its callers have the report.
  var isEnded = false

  init(_ request: SyncRunner.Request, isJoined: Bool) {
    (self.request, self.isJoined, next) = (request, isJoined, request)
  }

  /// The scopes that are pulled by the next run.
  var scopes: [SyncScope] { next.pulls.map { $0 + lacking } ?? [.everything] }

  /// The scopes to lock for the next run. A caller inside a lock waits for no other, whose holder may wait for it.
  var locked: [SyncScope] { isJoined ? scopes : request.pulls ?? [.everything] }

  /// Runs the sync once, or once more.
  mutating func advance(_ runner: SyncRunner) async {
    let isFurther = hasRun && lacking.isEmpty
    if hasRun { running?.goOn(after: report) }
    if !lacking.isEmpty {
      next.pulls = await runner.remaining(scopes)
      // The retry times were cleared by the run before, whose rejections count.
      next.ignoresRetryTimes = false
      next.waitsForPages = true
    }
    let ending = await runner.run(next, running)
    report.append(ending.report)
    lacking = ending.lacking
    mayGoOn = !isFurther || ending.report.pushed > 0
    hasRun = true
  }
}
