import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("The server's verdict on one operation", .timeLimit(.minutes(5)))
struct OperationEvaluatorTests {
  private static let record = RecordID(type: "Note", id: "T1")

  private static func server(_ version: String = "5", owner: String? = "ann", isDeleted: Bool = false)
    -> ServerRecord
  {
    ServerRecord(
      id: record, version: version, modified: 10, owner: owner, isDeleted: isDeleted,
      fields: isDeleted ? .empty : FieldsDocument(["title": "old", "score": 1]))
  }

  private static func operation(
    _ kind: BothySync.ChangeKind, base: String? = nil,
    _ fields: [String: JSONValue] = ["title": "new"]
  ) -> BothySync.SyncOperation {
    SyncOperation(
      id: "o1", kind: kind, record: record, base: base, fields: kind == .delete ? [:] : fields, modified: 20)
  }

  private static func judge(
    _ operation: BothySync.SyncOperation, _ current: ServerRecord?, as name: String? = "ann",
    rules: AccessRules = AccessRules(), now: Int64 = 100
  ) throws -> String {
    let evaluator = OperationEvaluator(rules: rules, user: Caller(name), now: now)
    switch try evaluator.decide(operation, current: current) {
    case .store(let stored, _): return stored.isDeleted ? "tombstone" : "store"
    case .unchanged: return "unchanged"
    case .conflict: return "conflict"
    case .reject(let rejection): return rejection.code
    case .taken: return "taken"
    }
  }

  /// Promises: A-80
  @Test("A reader's operations are all rejected, and nothing is learned by them")
  func reader() throws {
    var reader = Caller("ann")
    reader.isReader = true
    let evaluator = OperationEvaluator(rules: AccessRules(), user: reader, now: 100)
    for current in [nil, Self.server(), Self.server(isDeleted: true), Self.server(owner: "bob")] {
      for kind in [BothySync.ChangeKind.insert, .update, .delete] {
        let operation = Self.operation(kind, base: "5")
        guard case .reject(let rejection) = try evaluator.decide(operation, current: current) else {
          Issue.record("\(kind) was not rejected")
          continue
        }
        #expect(rejection.code == "forbidden" && rejection.message.contains(kind.rawValue))
      }
    }
    #expect(reader == Caller("ann"), "owners and audiences know no rights")
  }

  @Test("Only sensitive fields take secrets, and only a few small ones")
  func unfitSecrets() throws {
    let fields = [
      FieldSchema("title", .text, optional: true), FieldSchema("pin", .text, optional: true, sensitive: true),
    ]
    func verdict(_ secrets: [String: String], _ schema: StoreSchema?) throws -> String {
      var rules = AccessRules(schema: schema)
      rules.receiveSecrets = { _, _, _ in }
      var operation = Self.operation(.insert)
      operation.secrets = Secrets(secrets)
      return try Self.judge(operation, nil, rules: rules)
    }
    let schema = StoreSchema(types: [TypeSchema("Note", fields: fields)])
    #expect(try verdict(["pin": "1"], schema) == "store")
    for name in ["title", "../x"] { #expect(try verdict([name: "1"], schema) == "notSensitive") }
    let long = String(repeating: "1", count: AccessRules().recordSizeLimit + 1)
    #expect(try verdict(["pin": long], schema) == "tooLarge")
    for (count, expected) in [(64, "store"), (65, "tooLarge")] {
      let secrets = Dictionary(uniqueKeysWithValues: (0..<count).map { ("f\($0)", "") })
      #expect(try verdict(secrets, nil) == expected)
    }
  }

  @Test("The verdict follows from the server's state and the operation, as in the table")
  func table() throws {
    let worlds: [(ServerRecord?, [String])] = [
      // insert, update at base 5, delete at base 5, update at base 4, delete at base 4, update without base
      (nil, ["store", "conflict", "conflict", "conflict", "conflict", "conflict"]),
      (Self.server(isDeleted: true), ["store", "conflict", "conflict", "conflict", "conflict", "conflict"]),
      (Self.server(), ["conflict", "store", "tombstone", "conflict", "conflict", "conflict"]),
      (Self.server("6"), ["conflict", "conflict", "conflict", "conflict", "conflict", "conflict"]),
    ]
    let operations = [
      Self.operation(.insert), Self.operation(.update, base: "5"), Self.operation(.delete, base: "5"),
      Self.operation(.update, base: "4"), Self.operation(.delete, base: "4"), Self.operation(.update),
    ]
    for (current, expected) in worlds {
      #expect(
        try operations.map { try Self.judge($0, current) } == expected, "\(String(describing: current))")
    }
  }

  @Test("An update without changes is unchanged at the base version, and otherwise a conflict")
  func unchanged() throws {
    #expect(
      try Self.judge(Self.operation(.update, base: "5", ["title": "old"]), Self.server()) == "unchanged")
    #expect(try Self.judge(Self.operation(.update, base: "4", ["title": "old"]), Self.server()) == "conflict")
    #expect(try Self.judge(Self.operation(.update, base: "5", ["note": .null]), Self.server()) == "unchanged")
  }

  @Test("Permissions decide by action, user and owner", arguments: Permissions.Access.allCases)
  func permissions(access: Permissions.Access) throws {
    var type = Note.schema
    type.permissions = Permissions(create: access, read: .anyone, update: access, delete: access)
    let rules = AccessRules(schema: StoreSchema(types: [type]))
    let operations = [
      (Self.operation(.insert, ["title": "new", "score": 0]), nil),
      (Self.operation(.update, base: "5"), Self.server()),
      (Self.operation(.delete, base: "5"), Self.server()),
    ]
    for name in ["ann", "bob", nil] {
      let outcomes = try operations.map { try Self.judge($0.0, $0.1, as: name, rules: rules) }
      let allowed = ["store", "store", "tombstone"]
      let refused = ["forbidden", "forbidden", "forbidden"]
      let expected: [String] =
        switch access {
        case .anyone: allowed
        case .authenticated: name == nil ? refused : allowed
        case .owner, .shared:
          name == nil ? refused : name == "ann" ? allowed : ["store", "forbidden", "forbidden"]
        case .nobody: refused
        }
      #expect(outcomes == expected, "\(access), \(name ?? "anonymous")")
    }
  }

  @Test("Where only owners may write, a record without an owner can't be changed")
  func ownerless() throws {
    var type = Note.schema
    type.permissions = Permissions(create: .anyone, read: .anyone, update: .owner, delete: .owner)
    let rules = AccessRules(schema: StoreSchema(types: [type]))
    #expect(
      try Self.judge(Self.operation(.update, base: "5"), Self.server(owner: nil), rules: rules) == "forbidden"
    )
  }

  @Test("A hidden record can't be changed, and looks like one that doesn't exist")
  func hidden() throws {
    var type = Note.schema
    type.permissions = Permissions(read: .owner)
    let rules = AccessRules(schema: StoreSchema(types: [type]))
    for record in [Self.server(), Self.server(isDeleted: true), nil] {
      let made = try Self.judge(Self.operation(.insert), record, as: "bob", rules: rules)
      #expect(made == (record == nil ? "store" : "taken"), "an id is given once")
      for (operation, expected) in [
        (Self.operation(.update, base: "5"), "forbidden"), (Self.operation(.delete, base: "5"), "conflict"),
        (Self.operation(.insert, ["colour": "red"]), "invalid"),
      ] {
        #expect(try Self.judge(operation, record, as: "bob", rules: rules) == expected)
      }
    }
  }

  @Test("Each field that doesn't fit is rejected with an error, and defaults are inserted")
  func validation() throws {
    let rules = AccessRules(schema: .notes)
    let evaluator = OperationEvaluator(rules: rules, user: Caller("ann"), now: 100)
    let bad = Self.operation(.insert, ["colour": "red", "score": "many"])
    guard case .reject(let rejection) = try evaluator.decide(bad, current: nil) else {
      Issue.record("accepted")
      return
    }
    #expect(rejection.code == "invalid")
    #expect(
      rejection.fields.map { "\($0.field) \($0.code)" } == [
        "colour unknown", "score invalid", "title required",
      ])
    guard case .store(let stored, let differ) = try evaluator.decide(Self.operation(.insert), current: nil)
    else {
      Issue.record("refused")
      return
    }
    #expect(differ)
    #expect(try stored.fields.members() == ["title": "new", "score": 0])
    #expect(
      try Self.judge(Self.operation(.update, base: "5", ["title": .null]), Self.server(), rules: rules)
        == "invalid")
  }

  @Test("The time of an edit is never later than the server's own")
  func time() throws {
    for (now, expected) in [(100, 20), (15, 15)] as [(Int64, Int64)] {
      let evaluator = OperationEvaluator(rules: AccessRules(), user: .anonymous, now: now)
      guard case .store(let stored, _) = try evaluator.decide(Self.operation(.insert), current: nil) else {
        Issue.record("refused")
        continue
      }
      #expect(stored.modified == expected)
    }
  }

  @Test("Names and sizes have limits")
  func limits() throws {
    let rules = AccessRules(recordSizeLimit: 100)
    let large = Self.operation(.insert, ["title": .string(String(repeating: "x", count: 200))])
    #expect(try Self.judge(large, nil, rules: rules) == "tooLarge")
    for (type, id, container) in [
      ("", "T1", nil), ("Note", "", nil), ("Note", "a\u{0}", nil), ("Note", "T1", "/a"),
      ("Note", "T1", "a//b"),
      (String(repeating: "t", count: 65), "T1", nil), ("Note", String(repeating: "i", count: 513), nil),
    ] as [(String, String, String?)] {
      let operation = SyncOperation(
        id: "o", kind: .insert, record: RecordID(type: type, id: id), container: container)
      #expect(try Self.judge(operation, nil) == "invalidName")
    }
  }
}
