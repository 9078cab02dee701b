import BothyStore

/// The users and groups that records name as members, as the changes of one transaction gain and lose them.
///
/// Each request of a user reads the memberships that conditions of the schema look for, and others make them. So
/// their number is bounded for each name. Those that are too many already stay, and may be deleted or ended. Records
/// that don't meet the condition, such as closed ones, are neither read nor counted.
struct MembershipGains {
  /// A name in a field by which conditions find memberships.
  private struct Place: Hashable {
    var index: FieldIndex
    var key: [UInt8]
  }

  private var gains: [Place: Int] = [:]

  /// Compares the records of changes. Reads nothing.
  init(of changes: [(before: ServerRecord?, after: ServerRecord)], _ rules: AccessRules) throws {
    var indexes: [String: Set<FieldIndex>] = [:]
    let wanted = rules.fieldIndexes
    for membership in rules.conditions.memberships {
      indexes[membership.type.name, default: []].formUnion(wanted.indexes(of: membership))
    }
    guard !indexes.isEmpty else { return }
    for (before, after) in changes {
      for index in indexes[after.id.type] ?? [] {
        for (record, change) in [(after, 1), (before, -1)] {
          for key in try Self.keys(of: record, index, wanted) {
            gains[Place(index: index, key: key), default: 0] += change
          }
        }
      }
    }
  }

  private static func keys(
    of record: ServerRecord?, _ index: FieldIndex, _ wanted: FieldIndexSet
  ) throws -> Set<[UInt8]> {
    guard let record, !record.isDeleted else { return [] }
    return wanted.keys(of: record, try record.fields.members(), in: index).subtracting(FieldKey.noNames)
  }

  /// Throws `SyncServiceError` `.tooManyReaders` if more records would name a user or group. Counts entries of indexes as
  /// they were before, of names that are gained. An index that isn't finished counts nothing.
  func check(atMost limit: Int, in storage: any ServerSnapshot) throws {
    let live = storage.fieldIndexes.catalog?.live ?? [:]
    let gained = gains.filter { $0.value > 0 }
    var ranges: [FieldEntryRange] = []
    var changes: [Int] = []
    for (place, change) in gained {
      if change > limit { throw Self.refusal(limit) }
      guard let number = live[place.index] else { continue }
      ranges.append(FieldEntryRange(number, KeyRange(of: place.key)))
      changes.append(change)
    }
    let counts = try storage.entryCounts(in: ranges, limit: limit)
    for (count, change) in zip(counts, changes) where count.addingClamped(change) > limit {
      throw Self.refusal(limit)
    }
  }

  private static func refusal(_ limit: Int) -> SyncServiceError {
    SyncServiceError(
      .tooManyReaders,
      "The request makes a user or group a member by more than \(limit) records of one type (--memberships). Delete "
        + "or end others that name it.")
  }
}
