import BothyStore

/// Bringing what changed on the server without a sync: by hand since a moment, or live.
extension SyncedStore {
  /// Brings what has changed on the server since the moment that `token` marks; nil brings everything.
  ///
  /// The moment is one of the server's order of changes, not of any clock, so no change between two refreshes is
  /// missed, deletions included. Pending changes are not touched and nothing is sent. One round trip and one
  /// transaction for each page.
  ///
  /// Throws `BothyError`: `.cancelled` when the task is cancelled, before the next page, and `.serverError` when the server's
  /// answers bring it no further. The pages that were taken in stay; the next refresh from `token` brings them again.
  ///
  /// - Parameter container: only this container and those below it; nil refreshes the whole space.
  package func refresh(_ container: String? = nil, since token: ServerToken? = nil) async throws -> Refresh {
    let scope = container.map { SyncScope(container: $0, includesChildren: true) } ?? .everything
    let limit = configuration.pageSize
    var refresh = Refresh(token: token ?? ServerToken(text: ""))
    var (cursor, fruitless) = (token?.text, 0)
    while true {
      let page = try await page(of: scope, at: cursor, limit: limit)
      if page.reset && cursor != nil { refresh.startedOver = true }
      do { try await take(page) } catch let error as BothyError where error.code == .cancelled {
        throw BothyError(SyncStop.cancelled)
      }
      refresh.changed += page.changes.filter { !$0.isDeleted }.map(\.id)
      refresh.removed += page.changes.filter(\.isDeleted).map(\.id) + page.outOfScope
      fruitless = page.cursor == cursor ? fruitless + 1 : 0
      cursor = page.cursor
      refresh.token = ServerToken(text: page.cursor)
      guard page.more else { return refresh }
      if fruitless > SyncPass.fruitlessLimit { throw BothyError(SyncPass.noProgress) }
    }
  }

  private func page(
    of scope: SyncScope, at cursor: String?, limit: Int
  ) async throws(BothyError) -> SyncResponse.Page {
    if Task.isCancelled { throw BothyError(SyncStop.cancelled) }
    let request = SyncRequest(
      device: device, schemaVersion: store.schema.version, pulls: [.init(scope, cursor: cursor)], limit: limit
    )
    let response: SyncResponse
    do { response = try await remote.exchange(request) } catch {
      throw Task.isCancelled ? BothyError(SyncStop.cancelled) : BothyError(error)
    }
    guard let page = response.pages.first(where: { $0.scope == scope }) else {
      throw BothyError(.protocolViolation, "The server gave no page of '\(scope.container)'.")
    }
    return page
  }

  private func take(_ page: SyncResponse.Page) async throws {
    let now = clock.now()
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for change in page.changes { try pull.apply(change) }
      for id in page.outOfScope {
        if try OutboxQueue.mark(id, in: transaction) == nil { try pull.leave(id, from: page.scope) }
      }
    }
  }
}

extension SyncedStore {
  /// Takes in what a query brought. Each record is applied unless something at least as new is here; where it has
  /// pending work it is kept beside that, for the merge policy. One transaction.
  func take(_ records: [ServerRecord]) async throws {
    let now = clock.now()
    try await store.write(origin: .remote) { transaction in
      var pull = try PullApplication(transaction, now: now)
      for record in records { try pull.apply(record, ifNewer: true) }
    }
  }
}

/// A moment in the server's order of changes. Opaque; can be kept and used after a relaunch.
package struct ServerToken: Sendable, Hashable, Codable {
  package let text: String

  package init(text: String) { self.text = text }
}

/// What a refresh brought.
package struct Refresh: Sendable, Hashable {
  /// What was made or changed on the server, in its order; a record with pending work is named and not touched.
  package var changed: [RecordID] = []
  /// What was deleted on the server, left the container, or may no longer be seen.
  package var removed: [RecordID] = []
  /// The token of the next refresh.
  package var token: ServerToken
  /// True if the server could not continue from the token and sent everything again; deletions since are not among it.
  package var startedOver = false
}
