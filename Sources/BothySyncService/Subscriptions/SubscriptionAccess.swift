import BothyStore

/// A property of records by which the index knows subscriptions that want one value of it.
enum SubscriptionFacet: Sendable, Hashable {
  /// The value of a field, or of a name of metadata.
  case value(String)
  /// An element of a list of references.
  case element(String)
  /// The container.
  case container
  /// The container, or one above it.
  case path
}

/// A property of records by which the index knows subscriptions that want a range of its values.
enum SubscriptionAxis: Sendable, Hashable {
  /// The value of a field.
  case value(String)
  /// The milliseconds from now to a date.
  case distance(String)
}

/// A place of a subscription in the index, and the keys of the records that may concern it there.
struct SubscriptionPlace: Sendable, Hashable {
  /// The facets that each record has to have a key of. Their order is fixed, so equal sets are equal.
  var shape: [SubscriptionFacet] = []
  /// One key for each facet, for each of the combinations.
  var combinations: [[[UInt8]]] = [[]]
  /// The axis, if the place is within a tree of ranges.
  var axis: SubscriptionAxis?
  /// The ranges of the axis, any of which suffices.
  var ranges: [KeyRange] = []
}

/// The parts of a condition by which the index can find a subscription.
struct SubscriptionAccess {
  /// The most facets of a place. Each combination of facets in use is looked up for each change.
  static let facetLimit = 2
  /// The most keys of one place. A list with more values isn't used, and neither is a range beside many values.
  static let keyLimit = 10_000
  /// The most parts of OR that have a place each.
  static let alternativeLimit = 16

  private let type: TypeSchema?
  private var equalities: [SubscriptionFacet: Set<[UInt8]>] = [:]
  private var intervals: [SubscriptionAxis: [KeyRange]] = [:]
  private var alternatives: [[ConditionTree]] = []
  /// True if no record meets the condition.
  private var isImpossible = false

  private init(_ type: TypeSchema?) { self.type = type }

  /// Returns the places of a subscription. Each record that belongs to it is found at one of them.
  static func places(
    of subscription: CheckedSubscription, links values: [LinkValues], place: Coordinate?
  ) -> [SubscriptionPlace] {
    var access = SubscriptionAccess(subscription.type)
    if let scope = subscription.subscription.scope {
      let facet = scope.includesChildren ? SubscriptionFacet.path : .container
      access.addKeys([FieldKey.key(.text(scope.container))], to: facet)
    }
    access.add(subscription.condition)
    for (number, link) in subscription.links.enumerated() {
      access.addLinks(number < values.count ? values[number] : LinkValues(), to: link.field)
    }
    for window in subscription.subscription.windows {
      access.addRange(KeyRange(window.comparison, .date(window.offset)), to: .distance(window.field))
    }
    if let circle = subscription.subscription.place {
      guard let centre = place, centre.isOnEarth else { return [] }
      access.add(.near(field: circle.field, centre: centre, metres: circle.metres))
    }
    return access.places
  }

  /// Returns the places of a link, at which each of its records is found.
  static func places(of link: CheckedSubscription.Link) -> [SubscriptionPlace] {
    var access = SubscriptionAccess(link.type)
    access.add(link.condition)
    return access.places
  }

  // MARK: gathering

  private mutating func add(_ condition: ConditionTree) {
    switch condition {
    case .none: isImpossible = true
    case .and(let parts): for part in parts { add(part) }
    case .or(let parts): alternatives.append(parts)
    case .compare(let field, .equal, let value): addKeys([key(value, field)], to: .value(field))
    case .oneOf(let field, let values): addKeys(Set(values.map { key($0, field) }), to: .value(field))
    case .includes(let field, let element):
      if case .references? = type?[field]?.kind { addKeys([FieldKey.key(element)], to: .element(field)) }
    case .compare(let field, _, _), .beginsWith(let field, _, _), .near(let field, _, _),
      .inside(let field, _):
      addRanges(of: condition, on: field)
    case .all, .not, .compareFields, .compareNaturally, .contains, .matches, .relates, .exists: break
    }
  }

  private mutating func addRanges(of condition: ConditionTree, on field: String) {
    guard let kind = kind(of: field), let found = FieldIndex.Form(rawValue: kind.name)?.ranges(of: condition)
    else { return }
    if found.isEmpty { isImpossible = true }
    if found.count == 1 {
      addRange(found[0], to: .value(field))
    } else if intervals[.value(field)] == nil {
      intervals[.value(field)] = found
    }
  }

  /// Narrows an axis. An axis with several ranges stays as it is, because each of its records is in one of them.
  private mutating func addRange(_ range: KeyRange?, to axis: SubscriptionAxis) {
    // Every value is in this range.
    guard var range, range != FieldKey.values else { return }
    if let known = intervals[axis] {
      guard known.count == 1 else { return }
      if range.lower.lexicographicallyPrecedes(known[0].lower) { range.lower = known[0].lower }
      if known[0].upper.lexicographicallyPrecedes(range.upper) { range.upper = known[0].upper }
    }
    intervals[axis] = [range]
  }

  private mutating func addLinks(_ values: LinkValues, to field: String) {
    let facet: SubscriptionFacet
    if case .references? = type?[field]?.kind { facet = .element(field) } else { facet = .value(field) }
    addKeys(Set(values.values.map { key($0, field) }), to: facet)
  }

  private mutating func addKeys(_ keys: Set<[UInt8]>, to facet: SubscriptionFacet) {
    if keys.isEmpty { isImpossible = true }
    if let known = equalities[facet], known.count <= keys.count { return }
    equalities[facet] = keys
  }

  private func key(_ value: FieldValue, _ field: String) -> [UInt8] {
    FieldKey.key(value.asKey(of: kind(of: field)))
  }

  private func kind(of field: String) -> ValueKind? {
    // A checked condition has no other names.
    try? type?.queryField(field).kind
  }

  // MARK: choosing

  private var places: [SubscriptionPlace] {
    if isImpossible { return [] }
    let facets = chosenFacets
    let axis = chosenAxis
    if !facets.contains(where: { rank($0) < Self.weak }), axis == nil,
      let parts = alternatives.first(where: { $0.count <= Self.alternativeLimit })
    {
      return parts.flatMap { part -> [SubscriptionPlace] in
        var access = self
        access.alternatives = []
        access.add(part)
        return access.places
      }
    }
    var place = SubscriptionPlace()
    place.shape = facets
    for facet in facets {
      let keys = equalities[facet] ?? []
      place.combinations = place.combinations.flatMap { tuple in keys.map { tuple + [$0] } }
    }
    let ranges = axis.flatMap { intervals[$0] } ?? []
    guard place.combinations.count * ranges.count <= Self.keyLimit else { return [place] }
    (place.axis, place.ranges) = (axis, ranges)
    return [place]
  }

  /// The rank from which a facet divides subscriptions badly.
  private static let weak = 5

  /// The facets of the place: the best one, and the next one with a single key, in the order of their names.
  private var chosenFacets: [SubscriptionFacet] {
    let known = equalities.filter { $0.value.count <= Self.keyLimit }
    let ordered = known.keys.sorted { first, second in
      let (left, right) = (rank(first), rank(second))
      if left != right { return left < right }
      let (mine, theirs) = (known[first]?.count ?? 0, known[second]?.count ?? 0)
      return mine == theirs ? first.name < second.name : mine < theirs
    }
    guard let best = ordered.first else { return [] }
    let others = ordered.dropFirst().filter { known[$0]?.count == 1 }.prefix(Self.facetLimit - 1)
    return ([best] + others).sorted { $0.name < $1.name }
  }

  /// Returns a smaller number for a facet that distinguishes records better.
  private func rank(_ facet: SubscriptionFacet) -> Int {
    if equalities[facet] == [FieldKey.null] { return 6 }
    switch facet {
    case .element: return 1
    case .container, .path: return 4
    case .value(let field):
      if field == "id", type?["id"] == nil { return 0 }
      switch kind(of: field) {
      case .reference?, .uuid?: return 1
      case .text?: return 2
      case .bool?, nil: return 5
      default: return 3
      }
    }
  }

  /// The axis of the place: a place on earth, else a range with two ends, else any.
  private var chosenAxis: SubscriptionAxis? {
    func order(_ axis: SubscriptionAxis) -> Int {
      guard let ranges = intervals[axis], let only = ranges.first, ranges.count == 1 else { return 0 }
      if case .value(let field) = axis, kind(of: field) == .coordinate { return 0 }
      return only.lower == FieldKey.values.lower || only.upper == FieldKey.values.upper ? 2 : 1
    }
    return intervals.keys.min { first, second in
      (order(first), first.name) < (order(second), second.name)
    }
  }
}

extension SubscriptionFacet {
  /// A name that distinguishes it from others.
  var name: String {
    switch self {
    case .value(let field): "=" + field
    case .element(let field): "[" + field
    case .container: "/"
    case .path: "//"
    }
  }
}

extension SubscriptionAxis {
  /// A name that distinguishes it from others.
  var name: String {
    switch self {
    case .value(let field): "=" + field
    case .distance(let field): "-" + field
    }
  }
}

extension FieldValue {
  /// The value in the one form that keys of a kind have. Whole numbers fit fields of numbers too.
  func asKey(of kind: ValueKind?) -> FieldValue {
    if kind == .double, case .int(let number) = self { return .double(Double(number)) }
    return self
  }
}
