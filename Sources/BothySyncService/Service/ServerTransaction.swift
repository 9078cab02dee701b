import BothyStore

/// A snapshot with writes.
///
/// All of them are stored or none, when the closure that has it ends.
public protocol ServerTransaction: ServerSnapshot {
  /// Stores records at their positions, in place of those with their ids, and moves `head`. Stores the departures of
  /// those that leave a container.
  ///
  /// - Parameter keepsIndexes: true if the transaction notes the entries of these records in the indexes of fields. The
  ///   position of the indexes then moves with `head` if it was there.
  func put(_ records: [StoredRecord], keepsIndexes: Bool) throws
  /// Stores notes of records whose readers changed, at the positions of the changes.
  func put(_ removals: [RecordRemoval]) throws
  /// Remembers changes, and at least the last `limit` of the space, with 0 none. Older ones are dropped occasionally.
  func put(_ entries: [HistoryEntry], keeping limit: Int) throws
  /// Remembers outcomes, at the server's time.
  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws
  /// Forgets the outcomes of a device's operations whose ids sort before `operation` and that were remembered before
  /// `time`. With a large number, a later call forgets the rest.
  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws
  /// Notes the records that have values of unique fields, and forgets others. A repeated note has no effect.
  func note(_ holders: [UniqueHolder], forgetting gone: [UniqueHolder]) throws
  /// Notes that the values of the fields with this mark are noted up to `position`, if they were noted up to `start`.
  /// Fields without a mark are noted up to 0.
  func setNoted(upTo position: Int64, from start: Int64, marked mark: String) throws
  /// Notes entries of indexes, and forgets others. A repeated note has no effect.
  func note(_ new: [FieldEntry], forgetting gone: [FieldEntry]) throws
  /// Sets the indexes of the space's fields.
  func setFieldIndexes(_ state: FieldIndexState) throws
  /// Replaces the members of a list. An empty set forgets it. Lists without an owner count for no owner.
  func setMembers(_ members: Set<String>, of list: String, ownedBy owner: String?) throws
  /// Sets the lists that a record is shared with.
  func setLists(_ lists: Set<String>, of record: RecordID) throws
  /// Stores notices at their positions, each in place of an earlier one for its user and record, and moves `head`.
  func put(_ notices: [VisibilityNotice]) throws
  /// Notes that the caller acknowledges what an earlier transaction has committed. The commit of this one is then as
  /// durable as that of a change, and so is what it follows.
  func confirm()
}

extension ServerTransaction {
  /// Does nothing, for storages in which every visible change is durable.
  public func confirm() {}

  /// Stores records like `put(_:keepsIndexes:)`, without their entries in indexes.
  ///
  /// The indexes are then behind, and queries or the upkeep complete them.
  public func put(_ records: [StoredRecord]) throws { try put(records, keepsIndexes: false) }
}
