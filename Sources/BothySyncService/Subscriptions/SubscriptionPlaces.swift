import BothyStore

/// The places of the subscriptions to one type, found by the keys of a record.
///
/// A place belongs to a group: the values of its facets. A group has the numbers without an axis, and a tree of ranges
/// for each axis.
struct SubscriptionPlaces: Sendable {
  /// The places with equal values of their facets.
  private struct Group: Sendable {
    var plain: Set<Int> = []
    var trees: [SubscriptionAxis: IntervalTree] = [:]

    var isEmpty: Bool { plain.isEmpty && trees.isEmpty }
  }

  private let type: TypeSchema?
  private var shapes: [[SubscriptionFacet]: [[[UInt8]]: Group]] = [:]

  /// - Parameter type: the type of the records; `nil` for records of any type, of which only the container counts.
  init(of type: TypeSchema?) { self.type = type }

  var isEmpty: Bool { shapes.isEmpty }

  mutating func insert(_ place: SubscriptionPlace, _ number: Int) {
    for combination in place.combinations {
      var group = shapes[place.shape]?[combination] ?? Group()
      // Without this the dictionary's copy makes the tree's memory shared, and each change a copy.
      shapes[place.shape]?[combination] = nil
      if let axis = place.axis {
        for range in place.ranges { group.trees[axis, default: IntervalTree()].insert(range, number) }
      } else {
        group.plain.insert(number)
      }
      shapes[place.shape, default: [:]][combination] = group
    }
  }

  mutating func remove(_ place: SubscriptionPlace, _ number: Int) {
    for combination in place.combinations {
      guard var group = shapes[place.shape]?[combination] else { continue }
      shapes[place.shape]?[combination] = nil
      if let axis = place.axis {
        for range in place.ranges { group.trees[axis]?.remove(range, number) }
        if group.trees[axis]?.isEmpty ?? false { group.trees[axis] = nil }
      } else {
        group.plain.remove(number)
      }
      if !group.isEmpty { shapes[place.shape]?[combination] = group }
      if shapes[place.shape]?.isEmpty ?? false { shapes[place.shape] = nil }
    }
  }

  /// Returns the numbers at the places that a record's keys lead to.
  ///
  /// - Parameter examined: is raised by the number of groups looked up and of ranges visited.
  func numbers(for record: AnyRecord, at now: Int64, examined: inout Int) -> Set<Int> {
    var found: Set<Int> = []
    for (shape, groups) in shapes {
      var combinations: [[[UInt8]]] = [[]]
      for facet in shape {
        let keys = keys(of: facet, record)
        combinations = combinations.flatMap { tuple in keys.map { tuple + [$0] } }
      }
      for combination in combinations {
        examined += 1
        guard let group = groups[combination] else { continue }
        found.formUnion(group.plain)
        for (axis, tree) in group.trees {
          guard let key = key(on: axis, record, now) else { continue }
          examined += tree.visit(key) { found.insert($0) }
        }
      }
    }
    return found
  }

  private func keys(of facet: SubscriptionFacet, _ record: AnyRecord) -> [[UInt8]] {
    switch facet {
    case .value(let field): return [FieldKey.key(value(field, record))]
    case .element(let field): return Set(value(field, record).linked).map { FieldKey.key($0) }
    case .container: return [FieldKey.key(.text(record.container))]
    case .path: return record.container.pathAndThoseAbove.map { FieldKey.key(.text($0)) }
    }
  }

  private func key(on axis: SubscriptionAxis, _ record: AnyRecord, _ now: Int64) -> [UInt8]? {
    switch axis {
    case .value(let field): return FieldKey.key(value(field, record))
    case .distance(let field):
      guard case .date(let time) = value(field, record) else { return nil }
      return FieldKey.key(.date(time.subtractingClamped(now)))
    }
  }

  private func value(_ field: String, _ record: AnyRecord) -> FieldValue {
    guard let type else { return .null }
    return record.queried(field, type).asKey(of: type[field]?.kind)
  }
}

extension String {
  /// The path of a container, and those of the containers above it, up to the root.
  fileprivate var pathAndThoseAbove: [String] {
    if isEmpty { return [""] }
    let slashes = utf8.indices.filter { utf8[$0] == UInt8(ascii: "/") }
    // A slash divides no character in UTF-8.
    return Array(Set([self, ""] + slashes.map { String(self[..<$0]) }))
  }
}
