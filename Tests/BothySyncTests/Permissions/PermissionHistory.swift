import BothyStore
import BothySync
import BothySyncService
import BothyTesting

/// A random history of a server with random conditions, beside a model that filters all of its records by them.
struct PermissionHistory {
  typealias Change = BothySync.SyncOperation

  let permissions: ModelPermissions
  let service: SyncService
  private(set) var random: SeededGenerator
  private(set) var docs: [String: ModelDoc] = [:]
  private(set) var members: [String: ModelMember] = [:]
  /// The users with their present groups; the last has no name.
  private(set) var users: [Caller]
  /// The states that docs have had.
  private(set) var past: [String: [ModelDoc]] = [:]
  /// The ids of the changed docs, in order.
  private(set) var changes: [String] = []
  private(set) var problems: [String] = []
  private var count = 0

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var permissions = ModelPermissions(&random)
    permissions.isIndexed = seed % 2 == 0
    self.permissions = permissions
    try permissions.schema.validate()
    var rules = AccessRules(schema: permissions.schema)
    // Pages of few changes are read without indexes.
    if seed % 4 < 3 { rules.fewHiddenChanges = 0 }
    service = SyncService(storage: try SQLiteServerStorage(), rules: rules, now: { 1000 })
    users = ModelCondition.names.map { Caller($0) } + [.anonymous]
    self.random = random
  }

  /// Returns the ids of the records that the user may see.
  func visible(to user: Caller, deleted: Bool = false) -> Set<String> {
    Set(docs.filter { $0.value.isDeleted == deleted && sees(user, $0.value) }.keys)
  }

  func sees(_ user: Caller, _ doc: ModelDoc) -> Bool {
    permissions.read.holds(doc, user, Array(members.values))
  }

  mutating func note(_ problem: String) { problems.append("\(problem) after \(count) steps") }

  private func allows(_ condition: ModelCondition, _ doc: ModelDoc, _ user: Caller) -> Bool {
    condition.holds(doc, user, Array(members.values))
  }

  /// Makes one to three random changes in one request, or gives a user other groups.
  mutating func step() async throws {
    count += 1
    if random.chance(8) {
      let index = Int.random(in: 0..<3, using: &random)
      let groups = ModelCondition.groups.filter { _ in random.chance(50) }
      users[index] = Caller(users[index].name, groups: Set(groups))
      return
    }
    guard let user = users.randomElement(using: &random) else { return }
    var operations: [Change] = []
    var expected: [String] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      // A change of a record that the request has changed before has a base that isn't known yet.
      let (operation, verdict) = random.chance(30) ? memberChange() : docChange(user)
      guard !operations.contains(where: { $0.record == operation.record }) else { continue }
      operations.append(operation)
      expected.append(verdict(&self))
    }
    let request = SyncRequest(device: UUIDv7.make(), operations: operations)
    let outcomes = try await service.sync(space: "s", user: user, request).outcomes
    for (index, outcome) in outcomes.enumerated() {
      let operation = operations[index]
      let found: String
      switch outcome.verdict {
      case .applied(let version, _, _), .duplicate(let version, _, _):
        found = "applied"
        adopt(version, operation.record)
      case .conflict(let current): found = current == nil ? "nothing there" : "conflict"
      case .rejected(let rejection): found = rejection.code
      case .waiting: found = "waiting"
      }
      if found != expected[index] {
        note("\(user.name ?? "-") \(operation.kind) \(operation.record): \(found), not \(expected[index])")
      }
    }
  }

  private mutating func adopt(_ version: String, _ record: RecordID) {
    if record.type == "Member" {
      members[record.id]?.version = version
    } else if var doc = docs[record.id], doc.version != version {
      doc.version = version
      docs[record.id] = doc
      past[record.id, default: []].append(doc)
      changes.append(record.id)
    }
  }

  private typealias Verdict = (inout PermissionHistory) -> String

  /// Returns an operation, and what the model makes of it.
  private mutating func memberChange() -> (Change, Verdict) {
    let id = "m\(Int.random(in: 0..<4, using: &random))"
    let record = RecordID(type: "Member", id: id)
    let names = ModelCondition.names + ModelCondition.groups
    var member = ModelMember(
      user: names.randomElement(using: &random) ?? "",
      project: ModelCondition.projects.randomElement(using: &random) ?? "")
    member.role = random.chance(50) ? "reader" : nil
    var fields: [String: JSONValue] = ["user": .string(member.user), "project": .string(member.project)]
    fields["role"] = member.role.map { .string($0) } ?? .null
    guard let old = members[id] else {
      return (
        Change(id: UUIDv7.make(), kind: .insert, record: record, fields: fields),
        { world in
          world.members[id] = member
          return "applied"
        }
      )
    }
    if random.chance(40) {
      return (
        Change(id: UUIDv7.make(), kind: .delete, record: record, base: old.version),
        { world in
          world.members[id] = nil
          return "applied"
        }
      )
    }
    member.version = old.version
    return (
      Change(id: UUIDv7.make(), kind: .update, record: record, base: old.version, fields: fields),
      { world in
        world.members[id] = member
        return "applied"
      }
    )
  }

  private mutating func docChange(_ user: Caller) -> (Change, Verdict) {
    let id = "d\(Int.random(in: 0..<6, using: &random))"
    let record = RecordID(type: "Doc", id: id)
    let base = docs[id]?.version
    let fields = randomFields()
    let container = random.chance(20) ? ["box", "Doc"].randomElement(using: &random) : nil
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3:
      let operation = Change(
        id: UUIDv7.make(), kind: .insert, record: record, container: container, fields: fields)
      return (operation, { $0.insert(id, fields, container, user) })
    case 4...6:
      let operation = Change(
        id: UUIDv7.make(), kind: .update, record: record, container: container, base: base ?? "1",
        fields: fields)
      return (operation, { $0.update(id, fields, container, user) })
    case 7:
      let name = (ModelCondition.names + ["group:red"]).randomElement(using: &random) ?? ""
      let audience = Audience(users: [name])
      let isAdded = random.chance(60)
      let change = isAdded ? SharingChange(add: audience) : SharingChange(remove: audience)
      let operation = Change(
        id: UUIDv7.make(), kind: .update, record: record, base: base ?? "1", sharing: change)
      return (operation, { $0.share(id, name, isAdded: isAdded, user) })
    default:
      let operation = Change(id: UUIDv7.make(), kind: .delete, record: record, base: base ?? "1")
      return (operation, { $0.delete(id, user) })
    }
  }

  private mutating func randomFields() -> [String: JSONValue] {
    var fields: [String: JSONValue] = [:]
    let texts = [
      ("state", ModelCondition.states), ("team", ModelCondition.groups), ("project", ModelCondition.projects),
    ]
    for (name, values) in texts where random.chance(70) {
      fields[name] = random.chance(20) ? .null : .string(values.randomElement(using: &random) ?? "")
    }
    if random.chance(50) { fields["level"] = .int(Int64.random(in: 0..<6, using: &random)) }
    if random.chance(50) {
      let some = ModelCondition.names.filter { _ in random.chance(40) }
      fields["readers"] = .array(some.map { .string($0) })
    }
    return fields
  }

  // MARK: the model's verdicts

  private mutating func insert(
    _ id: String, _ fields: [String: JSONValue], _ container: String?, _ user: Caller
  ) -> String {
    let old = docs[id]
    let isSeen = old.map { sees(user, $0) } ?? false
    if let old, isSeen, !old.isDeleted { return "conflict" }
    // A hidden record's id can't be used, and its owner and audience aren't those of the new record.
    var doc = ModelDoc(fields: fields.filter { !$0.value.isNull }, owner: user.name)
    if let old, isSeen { (doc.owner, doc.audience) = (old.owner ?? user.name, old.audience) }
    doc.container = container ?? "Doc"
    guard old == nil || isSeen, allows(permissions.create, doc, user) else { return "forbidden" }
    docs[id] = doc
    return "applied"
  }

  private mutating func update(
    _ id: String, _ fields: [String: JSONValue], _ container: String?, _ user: Caller
  ) -> String {
    guard let old = docs[id], sees(user, old) else { return "forbidden" }
    guard !old.isDeleted else { return "conflict" }
    guard allows(permissions.update, old, user) else { return "forbidden" }
    var doc = old
    doc.fields = doc.fields.merging(fields) { $1 }.filter { !$0.value.isNull }
    doc.container = container ?? old.container
    guard doc != old else { return "applied" }
    guard allows(permissions.become ?? permissions.update, doc, user) else { return "forbidden" }
    docs[id] = doc
    return "applied"
  }

  private mutating func share(_ id: String, _ name: String, isAdded: Bool, _ user: Caller) -> String {
    guard let old = docs[id], sees(user, old) else { return "forbidden" }
    let leaves = !isAdded && name == user.name
    guard user.name != nil || leaves else { return "forbidden" }
    guard !old.isDeleted else { return "conflict" }
    if isAdded { docs[id]?.audience.insert(name) } else { docs[id]?.audience.remove(name) }
    return "applied"
  }

  private mutating func delete(_ id: String, _ user: Caller) -> String {
    guard let old = docs[id], sees(user, old) else { return "nothing there" }
    guard !old.isDeleted else { return "conflict" }
    guard allows(permissions.delete, old, user) else { return "forbidden" }
    docs[id]?.isDeleted = true
    return "applied"
  }
}
