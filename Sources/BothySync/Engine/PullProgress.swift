import BothyStore

/// The scopes that one sync pulls, and the pages of them that have arrived. Decides when these are shown. Pure.
///
/// A user's transaction may span several scopes. A server reads all pages of a request at one position, so these have all
/// of a transaction or nothing. Pages of several requests have several positions. They are shown in one step, once each
/// scope has arrived up to the newest change among them. Until then they are staged in the file.
///
/// Cursors have positions in the history of their answer alone. Servers without a history have no transactions either.
/// Their cursors may have any form, and their pages don't wait for others' requests.
struct PullProgress: Sendable {
  /// The scopes that the sync pulls.
  private(set) var scopes: [SyncScope]
  /// The scopes of which a page is missing or not shown yet.
  private(set) var open: [SyncScope]
  /// The position of the newest change that has arrived and isn't shown yet, or 0 if there is none.
  private(set) var news: Int64 = 0
  /// True if further pages follow those of the last answer.
  private(set) var hasMore = false
  /// True if the last answer's pages are shown.
  private(set) var isShowing = true
  /// True if a page has arrived. The file then knows if the server's history is another than the one it follows.
  private(set) var hasArrived = false
  /// The last pages that are staged, by their cursors.
  private var held: [SyncScope: String] = [:]
  /// The scopes whose pages wait for a push that the sync couldn't make.
  private var waiting: [SyncScope] = []
  /// The scopes that are up to date since pages were missing.
  private var upToDate: Set<SyncScope> = []
  /// The epoch of the last answer with a history, or `nil` before it. All positions are of it.
  private var epoch: String?
  /// The number of times that scopes were requested again because others had newer changes, since pages were shown.
  private var rounds = 0
  /// The most such times. On a server that is never at rest, a sync of more scopes than one request may have then shows
  /// what it has.
  static let roundLimit = 8

  init(_ scopes: [SyncScope]) { (self.scopes, open) = (scopes, scopes) }

  /// Pulls all scopes once more.
  mutating func reopen() { self = PullProgress(scopes) }

  /// True if the last page of a scope is staged. The scope then comes after others in the next request.
  func isHeld(_ scope: SyncScope) -> Bool { held[scope] != nil }

  /// Takes the pages of an answer, and decides if they are shown.
  ///
  /// - Parameters:
  ///   - response: the answer, with the pages that were requested.
  ///   - states: the scopes of the sync, as they were in the file at the time of the request.
  ///   - hasSent: true if operations were sent with the request. Staged pages are older than their results, so their
  ///     scopes are requested again.
  mutating func arrive(
    _ response: SyncResponse, _ states: [SyncScope: PullState], hasSent: Bool
  ) {
    let pages = response.pages
    if !pages.isEmpty { hasArrived = true }
    if hasSent {
      open += waiting.filter { !open.contains($0) }
      waiting = []
    }
    // Another sync may have taken what was staged.
    held = hasSent ? [:] : held.filter { states[$0.key]?.staged == $0.value }
    // Pages of another history are requested again.
    if let history = response.history, history.epoch != epoch {
      (epoch, news, held) = (history.epoch, 0, [:])
    }
    let isPaged = pages.contains(where: \.more)
    var arrived: [SyncScope: Int64] = [:]
    for page in pages {
      let wasHeld = held.removeValue(forKey: page.scope) != nil
      guard !page.more else { continue }
      guard let state = states[page.scope], let cursor = Cursor(token: page.cursor), cursor.epoch == epoch
      else {
        arrived[page.scope] = .max
        continue
      }
      arrived[page.scope] = cursor.position
      news = max(news, Self.newest(page, state, at: cursor.position, wasHeld: wasHeld))
    }
    let isMissing = isPaged || open.contains { arrived[$0] == nil && held[$0] == nil }
    var lagging: [SyncScope] = []
    if news > 0 && !isMissing && rounds < Self.roundLimit {
      lagging = scopes.filter { scope in
        if let position = arrived[scope] { return position < news }
        return lags(held[scope] ?? states[scope]?.cursor)
      }
    }
    if !lagging.isEmpty { rounds += 1 }
    for scope in lagging { held[scope] = nil }
    open += lagging.filter { !open.contains($0) }
    hasMore = isMissing || !lagging.isEmpty
    isShowing = !isPaged && (news == 0 || !hasMore)
  }

  /// Returns the position of the newest change that a last page and the staged ones before it show, or 0 for none. If the
  /// position of a change isn't known, that of the page counts.
  private static func newest(
    _ page: SyncResponse.Page, _ state: PullState, at position: Int64, wasHeld: Bool
  ) -> Int64 {
    let replaces = state.isComplete && (page.reset || state.isResetting)
    if replaces || !page.outOfScope.isEmpty || !page.unreadable.isEmpty { return position }
    let staged = wasHeld || page.reset ? nil : state.staged.flatMap(Cursor.init(token:))?.position
    let newest = page.changes.lazy.compactMap { Int64($0.version) }.max() ?? 0
    return min(position, max(newest, staged ?? 0))
  }

  /// True if a scope that was pulled up to this cursor may lack a part of the transaction of the newest change.
  func lags(_ cursor: String?) -> Bool {
    guard let cursor = cursor.flatMap(Cursor.init(token:)), cursor.epoch == epoch else { return true }
    return cursor.position < news
  }

  /// Stages the last answer's pages, because scopes are missing that the sync doesn't pull.
  mutating func hold() { (hasMore, isShowing) = (true, false) }

  /// Pulls further scopes with those of the sync.
  mutating func add(_ more: [SyncScope]) {
    scopes += more.filter { !scopes.contains($0) }
    open += more.filter { !open.contains($0) }
  }

  /// Returns a last page without changes for each scope whose pages are staged, if all are shown now.
  mutating func release() -> [SyncResponse.Page] {
    guard isShowing && !hasMore else { return [] }
    defer { (held, news, rounds) = ([:], 0, 0) }
    return scopes.compactMap { scope in
      held[scope].map { SyncResponse.Page(scope: scope, cursor: $0) }
    }
  }

  /// Notes what became of an answer. Returns true if the sync came nearer to its end.
  ///
  /// - Parameters:
  ///   - requested: the scopes that stay with the sync. A scope that was pulled once more has no cursor of its own.
  ///   - subscribed: the scopes that stay with it while pages are missing.
  ///   - isPushing: true if operations were sent, or may be sent by the next request. Otherwise the sync ends with pages
  ///     that wait for a push, unless it can send something after all.
  mutating func note(
    _ applied: SyncRunner.Applied, _ pages: [SyncResponse.Page], requested: [SyncScope],
    subscribed: [SyncScope], isPushing: Bool
  ) -> Bool {
    let before = open.count
    upToDate.formUnion(applied.upToDate)
    open.removeAll { applied.upToDate.contains($0) }
    let isNearer = open.count < before
    open += pages.map(\.scope).filter { !applied.upToDate.contains($0) && !open.contains($0) }
    for page in pages where !isShowing && applied.putOff.contains(page.scope) {
      held[page.scope] = page.cursor
    }
    if !isPushing && applied.waitsForPush {
      waiting += open.filter { applied.putOff.contains($0) }
      open.removeAll { applied.putOff.contains($0) }
    }
    if !upToDate.isEmpty {
      let staying = Set(open.isEmpty ? requested : requested + subscribed)
      let ended = upToDate.subtracting(staying)
      scopes.removeAll { ended.contains($0) }
    }
    if open.isEmpty { upToDate = [] }
    scopes += applied.waitsFor.filter { !scopes.contains($0) }
    open += applied.waitsFor.filter { !open.contains($0) && !upToDate.contains($0) }
    return isNearer
  }
}

/// The scopes that a sync needs beside its own, and those that its next request has room for.
extension SyncRunner {
  /// Stages an answer's pages if they aren't shown without scopes that the sync doesn't pull. Returns these scopes. A sync
  /// of all subscriptions has the locks of all scopes and pulls them by itself, so that none is returned.
  func hold(
    _ pulling: inout PullProgress, _ request: Request, _ plan: Plan, _ response: SyncResponse
  ) async throws -> [SyncScope] {
    var lacking = try await uncompared(pulling, plan, response)
    if lacking.isEmpty { lacking = try await self.lacking(pulling, request) }
    if lacking.isEmpty { return [] }
    pulling.hold()
    if request.pulls != nil { return lacking }
    pulling.add(lacking)
    return []
  }

  /// Returns all scopes with records beside those that the sync pulls, if pages of another history have arrived. They are
  /// compared in one step. Later the file follows that history, in which others may have moved their records away.
  private func uncompared(
    _ pulling: PullProgress, _ plan: Plan, _ response: SyncResponse
  ) async throws -> [SyncScope] {
    let isOther =
      response.pages.contains(where: \.isOtherHistory) || plan.states.values.contains(where: \.isOtherHistory)
    guard isOther else { return [] }
    return try await store.read { transaction in
      try PullState.all(in: transaction).filter { $0.cursor != nil || $0.isComplete }.map(\.scope)
        .filter { !pulling.scopes.contains($0) }
    }
  }

  /// Returns all subscribed scopes beside those that the sync pulls, if one of them may lack a part of a transaction
  /// that has arrived. Costs nothing if the pages have no changes, or if the sync pulls all scopes.
  private func lacking(_ pulling: PullProgress, _ request: Request) async throws -> [SyncScope] {
    guard pulling.news > 0, pulling.isShowing, request.pulls?.isEmpty == false else { return [] }
    let others = followed.current.filter { !pulling.scopes.contains($0) }
    if others.isEmpty { return [] }
    return try await store.read { transaction in
      // Nothing is shown of a scope that was never pulled.
      let shown = try others.map { try PullState.load($0, in: transaction) }
        .filter { $0.isComplete && !$0.isOtherHistory }
      return shown.contains { pulling.lags($0.cursor) } ? shown.map(\.scope) : []
    }
  }

  /// Ends the comparison with another history for a file that pulls nothing, because it has nothing to compare. Throws
  /// `RemoteError` `otherHistory` for any other file, which a request without pulls doesn't compare.
  func endComparison(in transaction: WriteTransaction) throws {
    guard followed.current.isEmpty, try PullState.scopes(in: transaction).isEmpty else {
      throw BoundRemote.uncompared
    }
    try HistoryComparison.endWithoutPages(in: transaction)
  }

  /// Returns the types whose changes don't fill a request for a caller that waits, or `nil` if it isn't filled: only
  /// what a sync would send by itself travels with it, and nothing while pages of a snapshot are missing.
  func unfilled(_ request: Request, in transaction: ReadTransaction) throws -> Set<String>? {
    guard request.isFilled, governor.obstacle == nil, configuration.direction != .pull,
      try !followed.current.contains(where: { try PullState.load($0, in: transaction).staged != nil })
    else { return nil }
    return governor.heldTypes
  }

  /// Chooses the scopes of one of several requests. Those without a last page come first, and then those whose last page
  /// is staged, so that their next one has the position of the others.
  static func first(
    _ missing: [PullState], of wanted: [PullState], _ pulling: PullProgress
  ) -> [PullState] {
    let chosen = Set(missing.map(\.scope))
    let all =
      missing.filter { !pulling.isHeld($0.scope) } + missing.filter { pulling.isHeld($0.scope) }
      + wanted.filter { !chosen.contains($0.scope) }
    return Array(all.prefix(pullLimit))
  }
}
