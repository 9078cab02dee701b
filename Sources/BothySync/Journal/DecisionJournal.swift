public import BothyStore

/// The decisions about local writes, with the content that was lost. They are kept in the file, written in the
/// transaction that decides, and limited by `SyncOptions.journal`.
///
/// ```swift
/// for entry in try store.journal.entries(losing: true) {
///   for field in entry.lostFields { print("\(entry.record): \(field.name) was \(field.local), is \(field.now)") }
/// }
/// ```
public struct DecisionJournal: Sendable {
  let store: SyncedStore

  /// SQL that holds for decisions that took content, see `JournalEntry.isUndoneDeletion`.
  private static let losing = """
    share = 1 AND (lost IS NOT NULL
      OR kind = 2 AND (verdict = 2 OR verdict = 3 AND cause <> 7 OR verdict = 6 AND cause IN (6, 8)))
    """

  /// Returns decisions, the newest first. One read of at most `limit` rows if no record is named and nothing is
  /// filtered.
  ///
  /// - Parameters:
  ///   - record: only those about this record.
  ///   - losing: only those that took local content, or undid a deletion.
  ///   - number: only those after the entry with this number.
  ///   - last: only those before the entry with this number, for the next page.
  public func entries(
    of record: RecordID? = nil, losing: Bool = false, after number: Int64? = nil, before last: Int64? = nil,
    limit: Int = 50
  ) throws -> [JournalEntry] {
    var conditions: [String] = []
    var arguments: [any StatementValue] = []
    if let record {
      conditions.append("type = ? AND id = ?")
      arguments.append(record)
    }
    if losing {
      conditions.append(Self.losing)
    }
    conditions.append("number > ? AND number < ? ORDER BY number DESC")
    arguments += [number ?? 0, last ?? .max]
    let (condition, values) = (conditions.joined(separator: " AND "), arguments)
    return try store.store.read { try Journal.entries(where: condition, values, limit: limit, in: $0) }
  }

  /// Returns the decision with this number, or `nil` if it is no longer kept. One look-up.
  package func entry(_ number: Int64) throws -> JournalEntry? {
    try store.store.read { try Journal.entry(number, in: $0) }
  }

  /// Returns the number of the newest decision, or 0 before the first. It never falls, whatever is removed.
  package func lastNumber() throws -> Int64 { try store.store.read { try Journal.end(in: $0) } }

  /// Returns each decision after `number`, in the order in which they were made, those of other processes too. With
  /// `nil`, begins with the next one. A reader that stores the number of the last one continues after it when
  /// relaunched. Decisions that were removed by then as too old are missing. One read for a hundred decisions, and one
  /// for each commit meanwhile.
  public func updates(
    after number: Int64? = nil
  ) -> some AsyncSequence<JournalEntry, BothyError> & Sendable {
    JournalUpdates(store: store, start: number)
  }
}

extension SyncedStore {
  /// The decisions about local writes, with the content that they lost.
  public var journal: DecisionJournal { DecisionJournal(store: self) }
}

/// Decisions as they are made, see `DecisionJournal.updates`. Ends when the task is cancelled or the store is closed.
package struct JournalUpdates: AsyncSequence, Sendable {
  package typealias Element = JournalEntry
  package typealias Failure = BothyError

  let store: SyncedStore
  let start: Int64?

  package struct AsyncIterator: AsyncIteratorProtocol {
    private let store: SyncedStore
    private var commits: CommitStream.AsyncIterator
    private var last: Result<Int64, BothyError>
    private var found: ArraySlice<JournalEntry> = []

    fileprivate init(_ store: SyncedStore, after start: Int64?) {
      self.store = store
      // Before the first look, so that no commit falls between.
      commits = store.store.allCommits.makeAsyncIterator()
      last = Result { () throws(BothyError) -> Int64 in
        if let start { return start }
        do { return try store.journal.lastNumber() } catch { throw BothyError(error, path: store.store.path) }
      }
    }

    /// Waits for the next decision. Returns `nil` once the task is cancelled or the store is closed.
    package mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(BothyError) -> JournalEntry? {
      while !Task.isCancelled {
        if let entry = found.popFirst() {
          last = .success(entry.number)
          return entry
        }
        let number = try last.get()
        do {
          found = try await store.store.read { transaction in
            try Journal.entries(
              where: "number > ? ORDER BY number", [number], limit: 100, in: transaction)
          }[...]
        } catch is CancellationError { return nil } catch {
          throw BothyError(error, path: store.store.path)
        }
        if found.isEmpty, await commits.next(isolation: actor) == nil { return nil }
      }
      return nil
    }
  }

  /// Returns an iterator. Without a number, decisions count from this call on.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(store, after: start) }
}
