import BothyStore

/// The pages of the server's answer to a query, one round trip each.
///
/// A page begins after the last record of the one before, by the server's cursor. So a record that doesn't change
/// between pages is in the answer once, whatever comes, goes or moves meanwhile. A remote without cursors is asked with
/// an offset. Nothing is kept of a page but the ids of its records.
struct QueryPages {
  /// The number of records of a page. A server may give fewer.
  static let size = 1000

  private let remote: any RemoteStorage
  private let query: AnyQuery
  private let pending: Set<String>
  private let wanted: Int?
  private var cursor: String?
  private var counted = 0
  /// The number of records of the server's answer that were left out before the first.
  let offset: Int
  /// The ids of the records, each once.
  private(set) var ids: Set<String> = []
  /// True if no record of the server's answer follows.
  private(set) var isExhausted = false
  /// True after the last page.
  private(set) var isDone = false

  /// - Parameters:
  ///   - pending: the ids of records that are shown as they are here, so that as many others are requested.
  ///   - isSorted: false for a caller that sorts the records itself. All records of a query are then in the order of
  ///     their ids, which no change moves.
  init(
    _ query: AnyQuery, _ remote: any RemoteStorage, without pending: Set<String> = [], isSorted: Bool = true
  ) {
    let isWhole = query.limit == nil && query.offset == 0
    var query = query
    if isWhole && !isSorted { query.order = [] }
    (self.remote, self.query, self.pending) = (remote, query, pending)
    // Records that are left out by their ids may be before the first of the answer, so these are counted here.
    let offset = pending.isEmpty ? query.offset : 0
    self.offset = offset
    wanted = query.limit.map { $0.addingClamped(query.offset - offset) }
  }

  /// Returns the next page, or `nil` after the last. A record that changed since an earlier page may come again, with a
  /// later version. A task that is cancelled between pages gets no further one: throws `RemoteError` with the code
  /// `cancelled`.
  mutating func next() async throws(RemoteError) -> [ServerRecord]? {
    if isDone { return nil }
    if Task.isCancelled && !ids.isEmpty {
      throw RemoteError(.unreachable, "The query was cancelled between its pages.", code: "cancelled")
    }
    let size = min(wanted.map { $0 - counted } ?? Self.size, Self.size)
    var page = query
    page.limit = size
    page.offset = offset.addingClamped(ids.count)
    let found = try await found(page)
    for record in found.records where ids.insert(record.id.id).inserted && !pending.contains(record.id.id) {
      counted += 1
    }
    cursor = found.next
    isExhausted = found.records.count < size && found.next == nil && !found.more
    isDone = isExhausted || found.records.isEmpty || counted == wanted
    return found.records
  }

  /// Returns the page after the cursor. A server that no longer takes the cursor is asked with an offset.
  private func found(_ page: AnyQuery) async throws(RemoteError) -> RemotePage {
    do { return try await remote.page(page, after: cursor) } catch {
      guard cursor != nil, error.isUnknownCursor else { throw error }
    }
    return try await remote.page(page, after: nil)
  }
}

extension RemoteStorage {
  /// Returns the answer to a query, in its order. One round trip for each thousand records.
  package func all(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    var pages = QueryPages(query, self)
    var records: [ServerRecord] = []
    while let page = try await pages.next() { records = records.adding(page) }
    return records
  }
}
