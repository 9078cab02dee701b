package import BothyStore
import Foundation

/// Creates random types, records and queries, small enough that equal values and ties are common.
package struct RandomQueries {
  package var random: SeededChoices
  package let type: TypeSchema

  /// Returns the seeds of a test that asks forty questions for each: `count` of them, or as many as `BOTHY_QUESTIONS`
  /// needs.
  package static func seeds(_ count: UInt64) -> Range<UInt64> {
    let questions = ProcessInfo.processInfo.environment["BOTHY_QUESTIONS"].flatMap { UInt64($0) } ?? 0
    return 0..<max(count, questions / 40)
  }

  package init(seed: UInt64) {
    var random = SeededChoices(seed: seed)
    let kinds: [ValueKind] = [
      .bool, .int, .double, .text, .date, .uuid, .data, .coordinate, .json,
      .reference(to: "Item", onDelete: .nullify), .references(to: "Item", onDelete: .nullify),
    ]
    var fields = [
      FieldSchema("title", .text, optional: true, fullText: true, natural: random.chance(0.4))
    ]
    if random.chance(0.5) { fields.append(FieldSchema("body", .text, optional: true, fullText: true)) }
    for (index, kind) in kinds.enumerated() where random.chance(0.8) {
      // A reference that a deletion clears must be optional.
      var isOptional = random.chance(0.8)
      if case .reference = kind { isOptional = true }
      fields.append(
        FieldSchema(
          "f\(index)", kind, optional: isOptional, indexed: kind != .json && random.chance(0.4),
          natural: kind == .text && random.chance(0.5)))
    }
    type = TypeSchema("Item", fields: fields, synced: random.chance(0.7))
    self.random = random
  }

  package mutating func records(_ count: Int) -> [AnyRecord] {
    (0..<count).map { index in
      var record = AnyRecord("Item", id: "\(random.pick(["a", "B", "é", "z"]))\(index)")
      if type.isSynced {
        record.container = random.pick(["Item", "trips/oslo", "x"])
        record.version = random.chance(0.5) ? random.pick(["1", "2", "10"]) : nil
        record.origin.metadata = RecordMetadata(
          created: random.pick([nil, 1, 2]), modified: random.pick([1, 2, 3]),
          owner: random.pick([nil, "ann", "Bob"]))
      }
      for field in type.fields where random.chance(0.75) || !field.isOptional {
        record[field.name] = value(field.kind)
      }
      return record
    }
  }

  package mutating func query() -> AnyQuery {
    var query = AnyQuery("Item", where: condition(depth: 3))
    let sortable = type.fields.filter { Self.ordered.contains($0.kind.name) }.map(\.name)
    let pseudo = ["id", "container", "version", "created", "_modified", "owner"]
    for name in (sortable + pseudo).shuffled(using: &random)
      .prefix(Int.random(in: 0...3, using: &random))
    {
      let isNatural = type[name]?.kind == .text && random.chance(0.4)
      query.order.append(SortKey(name, ascending: random.chance(0.5), natural: isNatural))
    }
    for field in type.fields where field.kind == .coordinate && random.chance(0.4) {
      let key = SortKey(field.name, distanceFrom: coordinate(), ascending: random.chance(0.7))
      query.order.insert(key, at: .random(in: 0...query.order.count, using: &random))
    }
    if query.filter.search(in: type) != nil && random.chance(0.5) {
      query.order.insert(SortKey(SortKey.rank, ascending: random.chance(0.3)), at: 0)
    }
    if random.chance(0.4) { query.limit = Int.random(in: 0...12, using: &random) }
    if random.chance(0.3) { query.offset = Int.random(in: 0...8, using: &random) }
    if random.chance(0.2) { query.container = random.pick(["Item", "trips/oslo", "none"]) }
    return query
  }

  private static let ordered: Set<String> = ["bool", "int", "double", "string", "date", "uuid", "reference"]

  package mutating func condition(depth: Int) -> ConditionTree {
    if depth > 0 && random.chance(0.6) {
      let parts = (0..<Int.random(in: 0...3, using: &random)).map { _ in condition(depth: depth - 1) }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: return .and(parts)
      case 1: return .or(parts)
      default: return .not(condition(depth: depth - 1))
      }
    }
    if random.chance(0.1) {
      let text = random.pick([
        "milk", "mi", "milk br", "", "\" OR *", "x AND y", "zlutoucky k", "STRASSE", "istanbul", "mi* bread",
        "bread* mi", "*", "str* 7", "京", "京タワ", "東京 mi",
      ])
      let fields = type.searched([]).map(\.name)
      return random.chance(0.3) ? .matches(text, in: [random.pick(fields)]) : .matches(text)
    }
    if random.chance(0.1) {
      let time = FieldValue.date(random.pick([0, 1, 2]))
      return .compare(
        field: random.pick(["_created", "modified"]), random.pick(ConditionTree.Comparison.allCases),
        random.pick([time, .null]))
    }
    if random.chance(0.1) {
      return .compare(
        field: random.pick(["id", "owner", "_owner", "version", "container"]),
        random.pick(ConditionTree.Comparison.allCases),
        random.pick(["a1", "1", "10", "Item", "ann", .null]))
    }
    if random.chance(0.1), let pair = pair() { return pair }
    return leaf(random.pick(type.fields))
  }

  /// Returns a comparison of two fields of one kind, or of a field with itself.
  private mutating func pair() -> ConditionTree? {
    let texts: Set<String> = ["string", "uuid", "reference"]
    let possible = type.fields.filter { Self.ordered.contains($0.kind.name) || $0.kind == .data }
    guard !possible.isEmpty else { return nil }
    let left = random.pick(possible)
    let others = possible.filter {
      $0.kind.name == left.kind.name || (texts.contains($0.kind.name) && texts.contains(left.kind.name))
    }
    var right = random.pick(others).name
    if left.kind == .date && random.chance(0.3) { right = random.pick(["_created", "modified"]) }
    if texts.contains(left.kind.name) && random.chance(0.3) {
      right = random.pick(["id", "owner", "container"])
    }
    let comparisons = left.kind == .data ? [.equal, .notEqual] : ConditionTree.Comparison.allCases
    return .compareFields(left.name, random.pick(comparisons), right)
  }

  private mutating func leaf(_ field: FieldSchema) -> ConditionTree {
    let name = field.name
    if random.chance(0.1) { return .compare(field: name, random.pick([.equal, .notEqual]), .null) }
    switch field.kind {
    case .text where random.chance(0.2):
      return .compareNaturally(
        field: name, random.pick(ConditionTree.Comparison.allCases), random.pick(Self.texts))
    case .references: return .includes(field: name, .text(random.pick(Self.texts)))
    case .json:
      return .includes(
        field: name, random.chance(0.5) ? .text(random.pick(Self.texts)) : random.pick(Self.elements))
    case .coordinate where random.chance(0.8): return place(name)
    case .text where random.chance(0.4), .uuid where random.chance(0.2), .reference where random.chance(0.2):
      let text = random.pick(Self.texts)
      return random.chance(0.5)
        ? .contains(field: name, text, ignoringCase: random.chance(0.5))
        : .beginsWith(field: name, text, ignoringCase: random.chance(0.5))
    default: break
    }
    if random.chance(0.25) {
      var values = (0..<Int.random(in: 0...3, using: &random)).map { _ in value(field.kind) }
      if random.chance(0.2) { values.append(.null) }
      return .oneOf(field: name, values)
    }
    let all = ConditionTree.Comparison.allCases
    let possible = Self.ordered.contains(field.kind.name) ? all : [.equal, .notEqual]
    return .compare(field: name, random.pick(possible), random.chance(0.1) ? .null : value(field.kind))
  }

  private mutating func place(_ name: String) -> ConditionTree {
    if random.chance(0.6) {
      return .near(
        field: name, centre: coordinate(), metres: random.pick([0, 1000, 300_000, 2e6, 1.1e7, 2.1e7]))
    }
    let parallels = [-90, -89.5, 0, 59.9, 90].shuffled(using: &random).prefix(2).sorted()
    return .inside(
      field: name,
      GeoBox(
        west: random.pick([-180, -179.5, 0, 10, 170, 180]), south: parallels[0],
        east: random.pick([-180, -175, 0, 11, 179.9, 180]), north: parallels[1]))
  }

  private mutating func coordinate() -> Coordinate {
    Coordinate(
      latitude: random.pick([-90, -89.9, 0, 0.5, 59.9, 60, 89.95, 90]),
      longitude: random.pick([-180, -179.9, -0.5, 0, 10.75, 179.95, 180]))
  }

  private static let texts = [
    "", "a", "A", "milk", "Milk bread", "fresh MILK", "%", "_", "é", "e\u{301}", "'", "\"", "z\u{10FFFF}",
    "\u{17D}lu\u{165}ou\u{10D}k\u{FD} k\u{16F}\u{148}", "Zlu\u{165}", "Stra\u{DF}e 7", "\u{130}stanbul",
    "milk 10", "Milk 9", "MILK 009", "milk 9b", "東京タワー milk", "milk京タワ",
  ]

  /// The elements of lists, besides texts.
  private static let elements: [FieldValue] = [
    .int(1), .int(2), .int(9_007_199_254_740_993), .double(2.5), .double(-0.1), .double(1), .bool(true),
    .bool(false), .null,
  ]

  private mutating func value(_ kind: ValueKind) -> FieldValue {
    switch kind {
    case .bool: .bool(random.chance(0.5))
    case .int: .int(random.pick([-1, 0, 1, 2, .max, .min]))
    case .double: .double(random.pick([-1.5, -0.0, 0, 0.25, 2, 1e300]))
    case .text, .reference: .text(random.pick(Self.texts))
    case .uuid:
      .text(random.pick(["00000000-0000-0000-0000-00000000000a", "f0000000-0000-0000-0000-000000000000"]))
    case .date: .date(random.pick([-1, 0, 1_700_000_000_000, -62_135_596_800_000]))
    case .data: .data(random.pick([Data(), Data([0]), Data([255, 0, 1])]))
    case .coordinate: .coordinate(coordinate())
    case .json, .blob:
      .json(
        random.pick([
          "[\"a\",1,\"milk\"]", "{\"a\":\"milk\"}", "\"a\"", "3", "[]", "[1,2.5,true,null]",
          "[false,-0.1,9007199254740993]",
        ]))
    case .references: .list((0..<Int.random(in: 0...2, using: &random)).map { _ in random.pick(Self.texts) })
    }
  }
}
