import BothyStore

/// Decides in memory which records belong to subscriptions: the reference for every other implementation.
///
/// It knows the live records that one user may see, and no others. A hidden record therefore neither belongs nor links.
package struct SubscriptionEvaluator {
  private var records: [RecordID: AnyRecord] = [:]

  /// The records of one subscription.
  package struct Belonging: Sendable, Hashable {
    /// The records that meet its conditions.
    package var members: Set<RecordID> = []
    /// The records that members refer to by included fields. Some may be members too.
    package var included: Set<RecordID> = []

    /// All records that a device keeps for the subscription.
    package var all: Set<RecordID> { members.union(included) }
  }

  /// Makes an evaluator without records.
  package init() {}

  /// Makes an evaluator of records. Of several with one id the last one counts.
  package init(_ records: some Sequence<AnyRecord>) { for record in records { set(record) } }

  /// The number of records.
  package var count: Int { records.count }

  /// Adds a record, or replaces the one with its id.
  package mutating func set(_ record: AnyRecord) { records[record.recordID] = record }

  /// Removes a record that was deleted, or that the user no longer sees.
  package mutating func remove(_ id: RecordID) { records[id] = nil }

  /// Returns the record with this id, or `nil`.
  package subscript(_ id: RecordID) -> AnyRecord? { records[id] }

  /// The records in no order.
  package var all: some Sequence<AnyRecord> { records.values }

  /// Returns the values of each link of a subscription. Reads every record for each link.
  package func values(of subscription: CheckedSubscription) -> [LinkValues] {
    subscription.links.map { link in
      var values = LinkValues()
      for record in records.values { for value in link.values(of: record) { values.add(value) } }
      return values
    }
  }

  /// Returns the records that belong to a subscription. Reads every record.
  package func evaluate(_ subscription: CheckedSubscription, at standpoint: Standpoint) -> Belonging {
    let values = values(of: subscription)
    var found = Belonging()
    for record in records.values where subscription.holds(record, at: standpoint, links: values) {
      found.members.insert(record.recordID)
      for id in subscription.targets(of: record) where records[id] != nil { found.included.insert(id) }
    }
    return found
  }
}
