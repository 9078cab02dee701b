import BothyStore

/// The records of a type that a condition lets a user see, in terms of a storage's indexes. Each of them is named by
/// one of the parts, and others may be.
package struct ReadableSources: Sendable, Hashable {
  /// True for the records that the user owns.
  package var isOwned = false
  /// True for the records whose audience includes the user.
  package var isShared = false
  /// The ids of records.
  package var ids: Set<String> = []
  /// The keys of indexes of fields. Live records have entries, and of deleted ones a storage reads all.
  package var ranges: [FieldEntryRange] = []

  package init() {}

  /// True if records are named by their ids or fields.
  var namesRecords: Bool { !ids.isEmpty || !ranges.isEmpty }

  mutating func formUnion(_ other: ReadableSources) {
    isOwned = isOwned || other.isOwned
    isShared = isShared || other.isShared
    ids.formUnion(other.ids)
    ranges += other.ranges.filter { !ranges.contains($0) }
  }
}

/// The use of indexes by a bound condition on reading.
private struct ReadablePlan {
  let type: TypeSchema
  let owner: String?
  let indexes: IndexConditions

  /// Returns the sources of a condition, or `nil` if no index has all of its records.
  func sources(of condition: ConditionTree) -> ReadableSources? {
    var found = ReadableSources()
    switch condition {
    case .none: return found
    case .and(let parts):
      let all = parts.compactMap(sources)
      return all.min { $0.ranges.count < $1.ranges.count }
    case .or(let parts):
      for part in parts {
        guard let some = sources(of: part) else { return nil }
        found.formUnion(some)
      }
      return found.ranges.count <= IndexPlan.rangeLimit ? found : nil
    case .relates:
      // A bound condition has relations to the audience alone.
      found.isShared = true
      return found
    case .compare(let field, .equal, .text(let name)) where isOwner(field) && owner.isSameName(as: name):
      found.isOwned = true
      return found
    case .compare("id", .equal, .text(let id)) where type["id"] == nil:
      found.ids = [id]
      return found
    case .oneOf("id", let values) where type["id"] == nil:
      found.ids = Set(values.compactMap(\.text))
      return found
    default:
      guard let ranges = indexes.ranges(of: condition) else { return nil }
      found.ranges = ranges
      return found
    }
  }

  private func isOwner(_ name: String) -> Bool {
    if type[name] != nil { return false }
    if case .owner? = QueryField.pseudo(name) { return true }
    return false
  }
}

extension AccessRules {
  /// Returns the filter of a viewer for reading changes after a position. Conditions on reading are part of it where
  /// indexes find the records that they let the viewer see, and where that is cheaper than reading what exists.
  ///
  /// A page of n records among s changes reads all entries of the viewer's keys. So they may be at most the root of
  /// s × n, like the records of a small tree. Costs a count of entries for each type with such a condition, and nothing
  /// without one or for few changes.
  ///
  /// - Parameter bindsConditions: false if the page also has what the viewer's own changes hid.
  func filter(
    for viewer: Viewer, after position: Int64, in storage: any ServerSnapshot, limit: Int,
    bindsConditions: Bool = true
  ) throws -> VisibilityFilter {
    var filter = visibility(of: viewer)
    guard bindsConditions, conditions.decideVisibility, storage.head - position > Int64(filter.fewChanges)
    else {
      return filter
    }
    let state = storage.fieldIndexes
    // Changes without entries would be missing.
    let live = state.position >= storage.head ? state.catalog?.live ?? [:] : [:]
    let span = Double(storage.head) - Double(position)
    let most = Int(min((span * Double(max(limit, 1))).squareRoot(), Double(Self.entryLimit)))
    for type in schema?.types ?? [] {
      guard let sight = sight(of: type.name, for: viewer) else { continue }
      let indexes = IndexConditions(AnyQuery(type.name), type, live: live)
      let plan = ReadablePlan(type: type, owner: viewer.user.name, indexes: indexes)
      guard let sources = plan.sources(of: sight) else { continue }
      let entries = try storage.entryCounts(in: sources.ranges, limit: most).reduce(0, +)
      if entries + sources.ids.count < max(most, 1) { filter.sights[type.name] = sources }
    }
    return filter
  }

  /// The most entries that a page of changes reads.
  private static let entryLimit = 50_000
}
