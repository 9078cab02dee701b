import BothyStore
import BothySync
import BothyTestSupport
import Foundation

/// Random records of huts, visits, members and photos, and random subscriptions to them.
///
/// Values are few, so that records are often linked and equal.
struct FollowedWorld {
  static let schema = StoreSchema(types: [
    TypeSchema(
      "Hut",
      fields: [
        FieldSchema("name", .text, optional: true, fullText: true),
        FieldSchema("position", .coordinate, optional: true),
        FieldSchema("photos", .references(to: "Photo", onDelete: .nullify), optional: true),
        FieldSchema("open", .bool, optional: true),
      ]),
    TypeSchema(
      "Visit",
      fields: [
        FieldSchema("hut", .reference(to: "Hut", onDelete: .nullify), optional: true),
        FieldSchema("start", .date, optional: true), FieldSchema("end", .date, optional: true),
        FieldSchema("beds", .int, optional: true), FieldSchema("price", .double, optional: true),
        FieldSchema("position", .coordinate, optional: true),
        FieldSchema("photos", .references(to: "Photo", onDelete: .nullify), optional: true),
        FieldSchema("guide", .text, optional: true), FieldSchema("key", .data, optional: true),
        FieldSchema("tags", .json, optional: true),
      ]),
    TypeSchema(
      "Member",
      fields: [
        FieldSchema("person", .text, optional: true), FieldSchema("role", .text, optional: true),
        FieldSchema("hut", .reference(to: "Hut", onDelete: .nullify), optional: true),
        FieldSchema("huts", .references(to: "Hut", onDelete: .nullify), optional: true),
        FieldSchema("beds", .int, optional: true),
      ]),
    TypeSchema(
      "Photo",
      fields: [
        FieldSchema("visit", .reference(to: "Visit", onDelete: .nullify), optional: true),
        FieldSchema("size", .int, optional: true),
      ]),
  ])

  static let day: Int64 = 86_400_000
  private static let names = ["Hut", "Visit", "Member", "Photo"]
  private static let containers = ["trips", "trips/oslo", "trips/oslo/a", "tripsy", "Visit", ""]

  var random: SeededChoices

  init(seed: UInt64) { random = SeededChoices(seed: seed) }

  // MARK: records

  mutating func record() -> AnyRecord {
    let type = random.pick(Self.names)
    var record = AnyRecord(type, id: id(of: type))
    record.container = random.chance(0.5) ? type : random.pick(Self.containers)
    record.origin.metadata = RecordMetadata(
      created: random.pick([nil, 0, Self.day]), modified: random.pick([0, Self.day, 3 * Self.day]),
      owner: random.pick([nil, "ann", "bob"]))
    for field in Self.schema[type]?.fields ?? [] where random.chance(0.8) {
      record[field.name] = value(field.kind)
    }
    return record
  }

  private mutating func value(_ kind: ValueKind) -> FieldValue {
    switch kind {
    case .bool: .bool(random.chance(0.5))
    case .int: .int(random.pick([-1, 0, 1, 2, .max]))
    // A whole number is a value of a field of numbers too.
    case .double: random.pick([.double(-1.5), .double(-0.0), .int(0), .double(2.25), .int(7)])
    case .text: .text(random.pick(Self.texts))
    case .date: .date(Int64.random(in: -4...12, using: &random) * Self.day + random.pick([-1, 0, 1]))
    case .data: .data(random.pick([Data(), Data([0]), Data([255, 0])]))
    case .coordinate: .coordinate(coordinate())
    case .json: .json(random.pick(["[\"a\",1]", "{\"a\":1}", "3"]))
    case .reference(let type, _): .text(id(of: type))
    case .references(let type, _):
      .list((0..<Int.random(in: 0...3, using: &random)).map { _ in id(of: type) })
    case .uuid, .blob: .null
    }
  }

  private mutating func id(of type: String) -> String {
    type.prefix(1).lowercased() + random.pick(["0", "1", "2", "3", "4", "5"])
  }

  private static let texts = [
    "", "ann", "bob", "anne", "é", "e\u{301}", String(repeating: "x", count: 250), "z",
  ]

  mutating func coordinate() -> Coordinate {
    Coordinate(
      latitude: random.pick([-90, -0.2, 0, 59.9, 60, 60.1, 89.9, 90]),
      longitude: random.pick([-180, -179.9, 0, 10.7, 10.9, 179.9, 180]))
  }

  // MARK: subscriptions

  mutating func subscription() throws -> CheckedSubscription {
    if random.chance(0.1) {
      let scope = SyncScope(container: random.pick(Self.containers), includesChildren: random.chance(0.6))
      return try Subscription(scope).checked(in: Self.schema)
    }
    let name = random.pick(["Visit", "Visit", "Hut", "Member", "Photo"])
    let hasContainer = random.chance(0.2)
    let through = random.chance(0.35) ? links(of: name) : []
    return try Subscription(
      name, container: hasContainer ? random.pick(Self.containers) : nil,
      includesChildren: random.chance(0.5), where: condition(name, depth: 2), through: through,
      windows: random.chance(0.3) ? windows(of: name) : [],
      place: random.chance(0.25) ? circle(of: name) : nil,
      including: random.chance(0.4) ? includes(of: name) : []
    ).checked(in: Self.schema)
  }

  private mutating func links(of type: String) -> [Subscription.Link] {
    let (condition, ofVisit) = (self.condition("Member", depth: 1), self.condition("Visit", depth: 1))
    let isLarge = ConditionTree.compare(field: "size", .greater, .int(0))
    let all: [String: [Subscription.Link]] = [
      "Visit": [
        Subscription.Link("hut", isIn: "hut", of: "Member", where: condition),
        Subscription.Link("hut", isIn: "huts", of: "Member", where: condition),
        Subscription.Link("beds", isIn: "beds", of: "Member", where: condition),
        Subscription.Link("photos", isIn: "id", of: "Photo"),
        Subscription.Link("id", isIn: "visit", of: "Photo", where: isLarge),
      ],
      "Hut": [
        Subscription.Link("id", isIn: "huts", of: "Member", where: condition),
        Subscription.Link("id", isIn: "hut", of: "Visit", where: .compare(field: "beds", .equal, .int(1))),
        Subscription.Link("name", isIn: "person", of: "Member"),
      ],
      "Member": [
        Subscription.Link("huts", isIn: "hut", of: "Member", where: condition),
        Subscription.Link("person", isIn: "person", of: "Member", where: condition),
      ],
      "Photo": [Subscription.Link("visit", isIn: "id", of: "Visit", where: ofVisit)],
    ]
    return Array((all[type] ?? []).shuffled(using: &random).prefix(random.pick([1, 1, 2])))
  }

  private func includes(of type: String) -> [String] {
    (Self.schema[type]?.fields ?? []).filter { $0.kind.target != nil }.map(\.name)
  }

  private static let orders: [ConditionTree.Comparison] = [.less, .lessOrEqual, .greater, .greaterOrEqual]

  private mutating func windows(of type: String) -> [Subscription.Window] {
    let fields = type == "Visit" ? ["start", "end", "created", "modified"] : ["created", "modified"]
    return (0..<random.pick([1, 2, 2])).map { _ -> Subscription.Window in
      let offset = Int64.random(in: -5...5, using: &random) * Self.day
      return Subscription.Window(random.pick(fields), random.pick(Self.orders), than: offset)
    }
  }

  private mutating func circle(of type: String) -> Subscription.Circle? {
    guard type == "Visit" || type == "Hut" else { return nil }
    return Subscription.Circle("position", metres: random.pick([0, 5000, 30_000, 1e6, 2.1e7]))
  }

  mutating func condition(_ type: String, depth: Int) -> ConditionTree {
    if depth > 0, random.chance(0.6) {
      let count = Int.random(in: 1...3, using: &random)
      let parts = (0..<count).map { _ in condition(type, depth: depth - 1) }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: return .or(parts)
      case 1: return .not(condition(type, depth: depth - 1))
      default: return .and(parts)
      }
    }
    if random.chance(0.2) { return .all }
    if random.chance(0.1) {
      return .compare(field: "owner", random.pick([.equal, .notEqual]), random.pick(["ann", .null]))
    }
    if random.chance(0.1) {
      return .oneOf(field: "id", [.text(id(of: type)), .text(id(of: type))])
    }
    if random.chance(0.1) {
      return .compare(field: "container", random.pick([.equal, .less]), .text(random.pick(Self.containers)))
    }
    return leaf(random.pick(Self.schema[type]?.fields ?? []))
  }

  private mutating func leaf(_ field: FieldSchema) -> ConditionTree {
    let name = field.name
    if random.chance(0.1) { return .compare(field: name, random.pick([.equal, .notEqual]), .null) }
    switch field.kind {
    case .references(let type, _): return .includes(field: name, .text(id(of: type)))
    case .json: return .includes(field: name, .text("a"))
    case .data: return .compare(field: name, .equal, value(field.kind))
    case .coordinate:
      if random.chance(0.3) { return .compare(field: name, .equal, .coordinate(coordinate())) }
      if random.chance(0.5) {
        return .near(field: name, centre: coordinate(), metres: random.pick([0, 30_000, 1e6]))
      }
      let parallels = [-90, 0, 59.95, 90].shuffled(using: &random).prefix(2).sorted()
      return .inside(
        field: name,
        GeoBox(
          west: random.pick([-180, 0, 10.8, 179]), south: parallels[0], east: random.pick([-179.9, 11, 180]),
          north: parallels[1]))
    case .text where random.chance(0.3):
      return .beginsWith(field: name, random.pick(Self.texts), ignoringCase: random.chance(0.3))
    case .text where random.chance(0.2): return .contains(field: name, "n", ignoringCase: false)
    default: break
    }
    if random.chance(0.3) { return .oneOf(field: name, [value(field.kind), value(field.kind), .null]) }
    if random.chance(0.4) { return .compare(field: name, .equal, value(field.kind)) }
    return .compare(field: name, random.pick(Self.orders), value(field.kind))
  }
}
