import BothyStore

/// A description of the requested changes.
public struct HistoryQuery: Sendable, Hashable {
  /// Only changes that left the record in one of these containers.
  public var scope: SyncScope
  /// Only changes of this record.
  public var record: RecordID?
  /// Only changes before this position.
  public var before: Int64?
  /// The most entries in one answer.
  public var limit: Int

  /// Makes a query, by default for the last hundred changes of the whole space.
  package init(
    scope: SyncScope = .everything, record: RecordID? = nil, before: Int64? = nil, limit: Int = 100
  ) {
    self.scope = scope
    self.record = record
    self.before = before
    self.limit = limit
  }
}
