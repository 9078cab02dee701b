import BothyStore

/// The users and groups that records name as members, as the changes of one transaction gain and lose them.
///
/// Each request of a user reads the memberships that conditions of the schema look for, and others make them. So
/// their number is bounded for each name. Those that are too many already stay, and may be deleted.
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
    for membership in rules.conditions.memberships {
      let type = membership.type
      let fields = membership.callers.compactMap { type[$0.field] }
      indexes[type.name, default: []].formUnion(fields.compactMap { FieldIndex($0, of: type.name) })
    }
    guard !indexes.isEmpty else { return }
    for (before, after) in changes {
      for index in indexes[after.id.type] ?? [] {
        for key in try Self.keys(of: after, index) { gains[Place(index: index, key: key), default: 0] += 1 }
        for key in try Self.keys(of: before, index) { gains[Place(index: index, key: key), default: 0] -= 1 }
      }
    }
  }

  private static func keys(of record: ServerRecord?, _ index: FieldIndex) throws -> Set<[UInt8]> {
    guard let record, !record.isDeleted else { return [] }
    // A field without a name is null or empty.
    return index.keys(in: try record.fields.members()).subtracting([FieldKey.null, FieldKey.key(.text(""))])
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
        + "others that name it.")
  }
}
