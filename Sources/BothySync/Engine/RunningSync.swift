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
