import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of unique fields, by the server's rules in the storage's transaction.
extension ServerStorageConformance {
  private static func schema(_ permissions: Permissions? = nil) -> StoreSchema {
    var type = TypeSchema(
      "User",
      fields: [
        FieldSchema("email", .text, optional: true, unique: true), FieldSchema("name", .text, optional: true),
        FieldSchema("number", .double, optional: true, unique: true),
        FieldSchema("boss", .reference(to: "User", onDelete: .nullify), optional: true),
        FieldSchema("desk", .text, optional: true), FieldSchema("room", .int, optional: true),
      ])
    type.indexes = [IndexSchema(["desk", "room"], unique: true)]
    type.permissions = permissions
    return StoreSchema(types: [type])
  }

  private static func operation(
    _ id: String, _ kind: BothySync.ChangeKind, base: String? = nil,
    _ fields: [String: JSONValue] = [:], group: Int? = nil
  ) -> BothySync.SyncOperation {
    SyncOperation(
      id: "op-\(id)", kind: kind, record: RecordID(type: "User", id: id), base: base, fields: fields,
      group: group.map { .init(id: "g", size: $0) })
  }

  private static func insert(
    _ id: String, _ fields: [String: JSONValue] = [:], group: Int? = nil
  ) -> BothySync.SyncOperation { operation(id, .insert, fields, group: group) }

  /// Sends the operations in one request of a new device, and returns the verdicts as text.
  private static func send(
    _ operations: [BothySync.SyncOperation], to storage: any ServerStorage, schema: StoreSchema? = schema(),
    by name: String = "ann",
    space: String = "s"
  ) async throws -> [String] {
    let rules = AccessRules(schema: schema)
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    let request = SyncRequest(device: UUIDv7.make(), operations: operations)
    return try await service.sync(space: space, user: Caller(name), request).outcomes.map {
      outcome in
      switch outcome.verdict {
      case .applied, .duplicate: "applied"
      case .conflict: "conflict"
      case .waiting(let on): "waits for \(on)"
      case .rejected(let rejection):
        ([rejection.code] + rejection.fields.map { "\($0.field) \($0.record?.id ?? "hidden")" })
          .joined(separator: " ")
      }
    }
  }

  private static func compareTogether(_ storage: any ServerStorage) async throws {
    let first = [
      insert("u1", ["desk": "a", "room": 1]), insert("u2", ["desk": "b", "room": 1]),
      insert("u3", ["desk": "a", "room": 2]), insert("u4", ["desk": "a"]), insert("u5", ["desk": "a"]),
    ]
    #expect(try await send(first, to: storage) == Array(repeating: "applied", count: 5))
    let taken = "uniqueViolation desk u1 room u1"
    #expect(try await send([insert("u6", ["desk": "a", "room": 1])], to: storage) == [taken])
    // The other field is the stored one, or that of an operation before.
    #expect(try await send([operation("u2", .update, base: "2", ["desk": "a"])], to: storage) == [taken])
    #expect(try await send([operation("u4", .update, base: "4", ["room": 1])], to: storage) == [taken])
    var second = operation("u7", .update, ["desk": "a"])
    second.id = "second"
    second.after = "op-u7"
    #expect(try await send([insert("u7", ["room": 1]), second], to: storage) == ["applied", taken])
    let free = [
      operation("u1", .update, base: "1", ["room": 3]), operation("u2", .update, base: "2", ["desk": "a"]),
      operation("u3", .update, base: "3", ["name": "n"]),
    ]
    #expect(try await send(free, to: storage) == ["applied", "applied", "applied"])
  }

  static let uniqueChecks: [Check] = [
    Check("A taken value of a unique field is refused with field and record, in its space alone") { storage in
      #expect(try await send([insert("u1", ["email": "x"])], to: storage) == ["applied"])
      let taken = [insert("u2", ["email": "x"]), insert("u3", ["email": "X"])]
      #expect(try await send(taken, to: storage) == ["uniqueViolation email u1", "applied"])
      #expect(try await send([insert("u2", ["email": "x"])], to: storage, space: "other") == ["applied"])
      let twice = [insert("u4", ["number": 1.0]), insert("u5", ["number": 1])]
      #expect(try await send(twice, to: storage) == ["applied", "uniqueViolation number u4"])
      // A null isn't a value that can be taken, and a long value is compared as a whole.
      let long = String(repeating: "é", count: 5000)
      let others = [
        insert("u6"), insert("u7", ["email": .null]), insert("u8", ["email": .string(long)]),
        insert("u9", ["email": .string(long + "\u{0}")]), insert("u10", ["email": .string(long)]),
      ]
      let found = try await send(others, to: storage)
      #expect(
        found == [
          "applied", "applied", "applied", "applied", "uniqueViolation email u8",
        ])
    },
    Check("Values that are unique together are compared after each change of one of them", compareTogether),
    Check("Unique values that only look alike are different, and so are records") { storage in
      let (composed, marked) = ("caf\u{E9}", "cafe\u{301}")
      #expect(try await send([insert("u1", ["email": .string(marked)])], to: storage) == ["applied"])
      let both = [insert("u2", ["email": .string(composed)]), insert("u3", ["email": .string(marked)])]
      #expect(try await send(both, to: storage) == ["applied", "uniqueViolation email u1"])
      let change = operation("u1", .update, base: "1", ["email": .string("cafe\u{301}s")])
      #expect(try await send([change], to: storage) == ["applied"])
      let swap = [operation("u2", .update, base: "2", ["email": .string(marked)])]
      #expect(try await send(swap, to: storage) == ["applied"])
      let late = [insert("u4", ["email": .string(composed)]), insert("u5", ["email": .string(marked)])]
      #expect(try await send(late, to: storage) == ["applied", "uniqueViolation email u2"])
      #expect(try await send([insert(composed, ["email": "x"])], to: storage) == ["applied"])
      let twin = try await send([insert(marked, ["email": "x"])], to: storage)
      #expect(twin == ["uniqueViolation email \(composed)"])
    },
    Check("A note of a unique value is forgotten for its record alone") { storage in
      @Sendable func holder(_ value: String, _ id: String) -> UniqueHolder {
        UniqueHolder(value: UniqueFieldValue(type: "User", field: "email", value: value), id: id)
      }
      let (x, y) = (holder("x", "u1").value, holder("y", "u1").value)
      let first = [holder("x", "u1"), holder("x", "u2"), holder("y", "u1")]
      let moved = (new: [holder("y", "u2")], gone: [holder("x", "u1"), holder("y", "u3")])
      try await storage.write(space: "s") { try $0.note(first, forgetting: []) }
      try await storage.write(space: "s") { try $0.note(moved.new, forgetting: moved.gone) }
      let found = try await storage.read(space: "s") { try $0.holders(of: [x, y], marked: "m") }
      let (u1, u2) = (RecordID(type: "User", id: "u1"), RecordID(type: "User", id: "u2"))
      #expect(found == UniqueHolders(position: 0, records: [x: [u2], y: [u1, u2]]))
      try await storage.write(space: "s") { try $0.note([], forgetting: [holder("x", "u2")]) }
      #expect(try await storage.read(space: "s") { try $0.holders(of: [x], marked: "m").records.isEmpty })
    },
    Check("A value is free when its record is deleted or has another, also later in the request") { storage in
      _ = try await send([insert("u1", ["email": "x"]), insert("u2", ["email": "y"])], to: storage)
      let request = [
        insert("u3", ["email": "x"]), insert("u4", ["email": "y", "boss": "u3"]),
        insert("u5", ["boss": "u4"]), operation("u1", .delete, base: "1"),
        operation("u2", .update, base: "2", ["email": "z"]),
      ]
      let done = try await send(request, to: storage)
      #expect(done == ["applied", "applied", "applied", "applied", "applied"])
      #expect(
        try await send([insert("u6", ["email": "z"]), insert("u7", ["email": "x"])], to: storage)
          == ["uniqueViolation email u2", "uniqueViolation email u3"])
    },
    Check("Records trade their values in one request, alone and as a group") { storage in
      for group in [nil, 2] {
        let space = "trade \(group ?? 0)"
        _ = try await send(
          [insert("u1", ["email": "x"]), insert("u2", ["email": "y"])], to: storage, space: space)
        let trade = [
          operation("u1", .update, base: "1", ["email": "y"], group: group),
          operation("u2", .update, base: "2", ["email": "x"], group: group),
        ]
        #expect(try await send(trade, to: storage, space: space) == ["applied", "applied"])
      }
      let group = [insert("u8", ["email": "n"], group: 2), insert("u9", ["email": "n"], group: 2)]
      #expect(
        try await send(group, to: storage) == ["uniqueViolation email u9", "uniqueViolation email u8"])
    },
    Check("Values that came without the schema are found, and records that collide can be edited") {
      storage in
      let twins = [insert("u1", ["email": "x"]), insert("u2", ["email": "x"])]
      let first = try await send(twins, to: storage, schema: nil)
      #expect(first == ["applied", "applied"])
      #expect(try await send([insert("u3", ["email": "x"])], to: storage) == ["uniqueViolation email u1"])
      let edits = [
        operation("u1", .update, base: "1", ["name": "n", "email": "x"]),
        operation("u2", .update, base: "2", ["email": "y"]),
      ]
      #expect(try await send(edits, to: storage) == ["applied", "applied"])
      // The next request again lacks the schema, and the later ones have it.
      #expect(try await send([insert("u4", ["email": "w"])], to: storage, schema: nil) == ["applied"])
      let later = [insert("u5", ["email": "w"]), insert("u6", ["email": "y"])]
      #expect(try await send(later, to: storage) == ["uniqueViolation email u4", "uniqueViolation email u2"])
    },
    Check("A record that the user may not see is not named") { storage in
      let hidden = schema(Permissions(read: .owner))
      let first = try await send([insert("u1", ["email": "x"])], to: storage, schema: hidden)
      #expect(first == ["applied"])
      #expect(
        try await send([insert("u2", ["email": "x"])], to: storage, schema: hidden, by: "bob")
          == ["uniqueViolation email hidden"])
    },
    Check("A reference that led nowhere before stops no edit of its record") { storage in
      _ = try await send([insert("u1", ["boss": "nobody"])], to: storage, schema: nil)
      let edits = [operation("u1", .update, base: "1", ["name": "n", "boss": "nobody"])]
      #expect(try await send(edits, to: storage) == ["applied"])
      let other = [
        operation("u1", .update, base: "2", ["boss": "somebody"]), insert("u2", ["boss": "u2"]),
      ]
      #expect(try await send(other, to: storage) == ["unknownReference boss somebody", "applied"])
    },
  ]
}
