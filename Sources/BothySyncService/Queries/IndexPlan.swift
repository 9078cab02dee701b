import BothyStore

/// The use of an index by a query.
enum IndexPlan: Sendable, Hashable {
  /// Reads keys in the query's order until enough records are found.
  case walk(IndexWalk)
  /// Reads all records of some keys, then sorts them.
  case gather([FieldEntryRange])

  /// The most records that are gathered. A condition that selects more is decided by the storage, record by record.
  static let gatherLimit = 10_000
  /// The number of records up to which gathering is preferred to a walk that may pass by many records.
  static let few = 2000
  /// The most ranges of keys of one query that are counted.
  static let rangeLimit = 128
}

/// A walk through the keys of one index, in one direction.
struct IndexWalk: Sendable, Hashable {
  var range: FieldEntryRange
  var isDescending = false
  /// True if records with one key come in the order of their ids, as an index has them.
  var followsIDs: Bool
  /// True if the keys are those of the query's first sort key. Otherwise there is one key, and the order is by id.
  var isByKey = true
}

/// The parts of a query that an index of its type can answer.
struct IndexConditions {
  private let fields: [String: (index: FieldIndex, number: Int64)]
  /// The indexes by natural order.
  private let naturals: [String: (index: FieldIndex, number: Int64)]
  private let words: Int64?
  /// The indexes of a part of the records, by their numbers. No plan chooses them.
  private let parts: [Int64: FieldIndex]
  private let query: AnyQuery

  /// - Parameter query: a checked query of the type.
  init(_ query: AnyQuery, _ type: TypeSchema, live: [FieldIndex: Int64]) {
    var fields: [String: (index: FieldIndex, number: Int64)] = [:]
    var naturals = fields
    for field in type.fields {
      if let index = FieldIndex(naturalOf: field, of: type.name), let number = live[index] {
        naturals[field.name] = (index, number)
      }
      if let index = FieldIndex(field, of: type.name), let number = live[index] {
        fields[field.name] = (index, number)
      }
    }
    self.fields = fields
    self.naturals = naturals
    self.query = query
    words = FieldIndex(wordsOf: type).flatMap { live[$0] }
    parts = live.reduce(into: [:]) { parts, entry in
      if entry.key.part != nil, entry.key.type == type.name { parts[entry.value] = entry.key }
    }
  }

  /// True if the type has no index.
  var isEmpty: Bool { fields.isEmpty && naturals.isEmpty && words == nil }

  /// The indexes by their numbers.
  func index(numbered number: Int64, of type: TypeSchema) -> FieldIndex? {
    if number == words { return FieldIndex(wordsOf: type) }
    return fields.values.first { $0.number == number }?.index
      ?? naturals.values.first { $0.number == number }?.index ?? parts[number]
  }

  /// Returns the cheapest use of an index, or `nil` if a scan is cheaper. Reads the numbers of entries only if there is
  /// a choice.
  func plan(in storage: any ServerSnapshot) throws -> IndexPlan? {
    let sets = conjuncts(query.filter).enumerated().flatMap { place, part in
      keySets(of: part).map { KeySet(part: place, isLeaf: part.isLeaf, ranges: $0) }
    }
    let (walk, own) = findWalk(sets)
    var choices = sets.filter { $0.part != own || !(walk?.followsIDs ?? false) }.map(\.ranges)
    if choices.contains([]) { return .gather([]) }
    if let walk, choices.isEmpty { return .walk(walk) }
    while choices.reduce(0, { $0 + $1.count }) > IndexPlan.rangeLimit { choices.removeLast() }
    let counts = try storage.entryCounts(in: choices.flatMap { $0 }, limit: IndexPlan.gatherLimit + 1)
    var rest = counts[...]
    var best: (ranges: [FieldEntryRange], count: Int)?
    for ranges in choices {
      let count = rest.prefix(ranges.count).reduce(0, +)
      rest = rest.dropFirst(ranges.count)
      if count < best?.count ?? .max { best = (ranges, count) }
    }
    let most = walk == nil ? IndexPlan.gatherLimit : IndexPlan.few
    if let best, best.count <= most { return .gather(best.ranges) }
    return walk.map { .walk($0) }
  }

  /// Returns the ranges of the places at most so far from one, or `nil` for a field without an index.
  func circle(of field: String, around centre: Coordinate, metres: Double) -> [FieldEntryRange]? {
    guard let (index, number) = fields[field], index.form == .coordinate else { return nil }
    return QuadCells.ranges(of: GeoBox(around: centre, metres: metres)).map { FieldEntryRange(number, $0) }
  }

  /// Returns the best gathering, without a walk. For counts.
  func gathering(in storage: any ServerSnapshot) throws -> [FieldEntryRange]? {
    var unsorted = self.query
    unsorted.order = [SortKey("id", ascending: false)]
    guard case .gather(let ranges) = try IndexConditions(self, unsorted).plan(in: storage) else { return nil }
    return ranges
  }

  private init(_ other: IndexConditions, _ query: AnyQuery) {
    (fields, naturals, words, parts, self.query) =
      (other.fields, other.naturals, other.words, other.parts, query)
  }

  private func conjuncts(_ filter: ConditionTree) -> [ConditionTree] {
    guard case .and(let parts) = filter else { return [filter] }
    return parts.flatMap(conjuncts)
  }

  /// The keys of one condition, of which each selected record has one.
  private struct KeySet {
    var part: Int
    var isLeaf: Bool
    var ranges: [FieldEntryRange]
  }

  /// Returns the walk that has the query's order, and the condition that its range includes.
  private func findWalk(_ sets: [KeySet]) -> (walk: IndexWalk?, own: Int?) {
    let order = query.totalOrder
    guard let first = order.first, first.origin == nil else { return (nil, nil) }
    let single = sets.filter { $0.isLeaf && $0.ranges.count == 1 }
    if let (index, number) = (first.isNatural ? naturals : fields)[first.field], index.isOrdered {
      let followsIDs = order.count == 2 && order.last == SortKey("id")
      let own = single.first { $0.ranges.first?.index == number }
      let all = FieldEntryRange(number, FieldKey.all)
      let walk = IndexWalk(
        range: own?.ranges.first ?? all, isDescending: !first.ascending, followsIDs: followsIDs)
      return (walk, own?.part)
    }
    guard order == [SortKey("id")] else { return (nil, nil) }
    for set in single {
      guard let range = set.ranges.first, let key = range.keys.single, !FieldKey.isCut(key) else { continue }
      return (IndexWalk(range: range, followsIDs: true, isByKey: false), set.part)
    }
    return (nil, nil)
  }

  /// Returns the sets of keys of a condition, any of which suffices: one for each word of a search, or for each key of
  /// a word without spaces.
  private func keySets(of condition: ConditionTree) -> [[FieldEntryRange]] {
    guard case .matches(let text, _, _) = condition else { return ranges(of: condition).map { [$0] } ?? [] }
    guard let words else { return [] }
    return TextSearch(text).terms.flatMap { term in
      term.keys.map { key in
        let keys = term.isKeyPrefix ? KeyRange(beginningWith: key) : KeyRange(of: FieldKey.key(.text(key)))
        return [keys, KeyRange(of: FieldKey.many)].map { FieldEntryRange(words, $0) }
      }
    }
  }

  /// Returns ranges of keys that every record of the condition has one of, or `nil` if no index has them.
  func ranges(of condition: ConditionTree) -> [FieldEntryRange]? {
    switch condition {
    case .none: return []
    case .all, .not, .contains, .compareFields, .relates, .exists: return nil
    case .and(let parts):
      for part in parts { if let found = ranges(of: part) { return found } }
      return nil
    case .or(let parts):
      var all: [FieldEntryRange] = []
      for part in parts {
        guard let found = ranges(of: part) else { return nil }
        all += found
        guard all.count <= IndexPlan.rangeLimit else { return nil }
      }
      return all
    case .matches: return keySets(of: condition).max { $0.span < $1.span }
    case .compareNaturally(let field, let comparison, let text):
      guard let (_, number) = naturals[field],
        let keys = KeyRange(comparison, .text(NaturalOrder.key(of: text)))
      else { return nil }
      return [FieldEntryRange(number, keys)]
    case .compare(let field, _, _), .oneOf(let field, _), .beginsWith(let field, _, _),
      .includes(let field, _), .near(let field, _, _), .inside(let field, _):
      guard let (index, number) = fields[field] else { return nil }
      return index.form.ranges(of: condition)?.map { FieldEntryRange(number, $0) }
    }
  }
}

extension ConditionTree {
  /// True if the condition is about one field.
  fileprivate var isLeaf: Bool {
    switch self {
    case .and, .or, .not, .all, .none, .matches: false
    default: true
    }
  }
}

extension [FieldEntryRange] {
  /// The length of the first key. Longer words are mostly rarer.
  fileprivate var span: Int { first?.lower.count ?? 0 }
}

extension FieldEntryRange {
  init(_ index: Int64, _ keys: KeyRange) {
    self.init(index: index, from: keys.lower, before: keys.upper)
  }

  var keys: KeyRange { KeyRange(from: lower, before: upper) }
}
