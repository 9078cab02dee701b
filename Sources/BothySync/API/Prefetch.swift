import BothyStore

/// The result of a prefetch.
package struct Prefetch: Sendable, Hashable {
  /// The records that were reached and are here, the query's own included.
  package var records: Set<RecordID>
  /// The records that are referred to and not here.
  package var missing: Set<RecordID> = []

  init(records: Set<RecordID>) { self.records = records }

  /// True if everything on the way is here.
  package var isComplete: Bool { missing.isEmpty }
}
