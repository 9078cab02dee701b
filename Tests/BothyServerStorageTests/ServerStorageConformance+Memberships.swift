import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of the number of records that make one user or group a member.
extension ServerStorageConformance {
  private static let byName =
    "EXISTS(Member WHERE project = record.project AND user = principal.name AND role != 'ended')"
  private static let byGroup =
    "EXISTS(Member WHERE project = record.project AND team IN principal.groups AND role != 'ended')"

  private static let members = StoreSchema(types: [
    TypeSchema(
      "Task", fields: [FieldSchema("project", .text)],
      permissions: Permissions().where(read: "\(byName) OR \(byGroup)")),
    TypeSchema(
      "Member",
      fields: [
        FieldSchema("project", .text), FieldSchema("user", .text, indexed: true),
        FieldSchema("team", .text, optional: true, indexed: true), FieldSchema("role", .text, optional: true),
      ]),
  ])

  /// Returns the change of a membership's role, by default to one that isn't in force.
  private static func end(_ id: String, _ base: String, _ role: JSONValue = "ended")
    -> BothySync.SyncOperation
  {
    SyncOperation(
      id: "\(id)-role-\(base)", kind: .update, record: RecordID(type: "Member", id: id), base: base,
      fields: ["role": role])
  }

  /// Returns the projects of which a user sees the tasks. Adds a task to each.
  private static func projects(of user: Caller, in storage: any ServerStorage) async throws -> [String] {
    let service = SyncService(storage: storage, rules: AccessRules(schema: members), now: { 1000 })
    for number in 1...5 {
      let task = RecordID(type: "Task", id: "t\(number)")
      let operation = SyncOperation(
        id: task.id, kind: .insert, record: task, fields: ["project": .string("m\(number)")])
      _ = try await service.perform(space: "s", user: Caller("ann"), operation)
    }
    let found = try await service.queryPage(space: "s", user: user, AnyQuery("Task", order: [SortKey("id")]))
    return try found.records.compactMap { try $0.fields.members()["project"]?.stringValue }
  }

  private static func member(
    _ id: String, _ user: String, base: String? = nil
  ) -> BothySync.SyncOperation {
    SyncOperation(
      id: "\(id)-\(user)-\(base ?? "")", kind: base == nil ? .insert : .update,
      record: RecordID(type: "Member", id: id), base: base,
      fields: ["project": .string(id), "user": .string(user)])
  }

  /// Sends changes of memberships, of which three may name a user. Returns the versions of what was applied, or no
  /// versions if the request is refused.
  private static func versions(
    of operations: [BothySync.SyncOperation], in storage: any ServerStorage, limit: Int = 3
  ) async throws -> [String] {
    var rules = AccessRules(schema: members)
    rules.membershipLimit = limit
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    do {
      let request = SyncRequest(device: "d", operations: operations)
      return try await service.sync(space: "s", user: Caller("ann"), request).outcomes.compactMap {
        if case .applied(let version, _, _) = $0.verdict { version } else { nil }
      }
    } catch let error as SyncServiceError where error.code == .tooManyReaders {
      #expect(error.message.contains("3 records of one type (--memberships)"))
      return []
    }
  }

  static let membershipChecks: [Check] = [
    Check("Memberships that name a user are limited, and deleted ones make room") { storage in
      let four = ["m1", "m2", "m3", "m4"].map { member($0, "bob") }
      #expect(try await versions(of: four, in: storage).isEmpty)
      let made = try await versions(of: Array(four.prefix(3)), in: storage)
      #expect(made.count == 3)
      #expect(try await versions(of: [four[3]], in: storage).isEmpty)
      let other = try await versions(of: [member("m5", "cid")], in: storage)
      #expect(try await versions(of: [member("m5", "bob", base: other.first)], in: storage).isEmpty)
      let gone = SyncOperation(
        id: "gone", kind: .delete, record: RecordID(type: "Member", id: "m1"), base: made[0])
      #expect(try await versions(of: [gone], in: storage).count == 1)
      #expect(try await versions(of: [four[3]], in: storage).count == 1)
    },
    Check("Records that name no user as a member are not limited") { storage in
      let unassigned = (1...5).map { member("m\($0)", "") }
      let first = try await versions(of: unassigned, in: storage)
      let further = try await versions(of: [member("m6", "")], in: storage)
      #expect(first.count == 5 && further.count == 1)
    },
    Check("Memberships beyond the limit stay, and change except for their user") { storage in
      let five = (1...5).map { member("m\($0)", "bob") }
      let made = try await versions(of: five, in: storage, limit: 1000)
      #expect(made.count == 5)
      var moved = member("m1", "bob", base: made[0])
      moved.fields["project"] = "other"
      #expect(try await versions(of: [moved], in: storage).count == 1)
      let away = try await versions(of: [member("m2", "cid", base: made[1])], in: storage)
      #expect(away.count == 1)
      #expect(try await versions(of: [member("m2", "bob", base: away[0])], in: storage).isEmpty)
    },
    Check("Memberships that have ended make room, and begin again while there is some") { storage in
      let three = (1...3).map { member("m\($0)", "bob") }
      let made = try await versions(of: three, in: storage)
      #expect(made.count == 3)
      #expect(try await versions(of: [member("m4", "bob")], in: storage).isEmpty)
      let ended = try await versions(of: [end("m1", made[0])], in: storage)
      #expect(ended.count == 1)
      #expect(try await versions(of: [member("m4", "bob")], in: storage).count == 1)
      #expect(try await versions(of: [end("m1", ended[0], "lead")], in: storage).isEmpty)
      // Closed work makes its user no member.
      let closed = (5...9).map { number in
        var operation = member("m\(number)", "bob")
        operation.fields["role"] = "ended"
        return operation
      }
      #expect(try await versions(of: closed, in: storage).count == 5)
      // A record that ends and another that begins are one change.
      let swapped = [end("m2", made[1]), end("m1", ended[0], "lead")]
      #expect(try await versions(of: swapped, in: storage).count == 2)
      #expect(try await projects(of: Caller("bob"), in: storage) == ["m1", "m3", "m4"])
    },
    Check("A server without the condition writes memberships that others find") { storage in
      let bob = Caller("bob", groups: ["staff"])
      let made = try await versions(of: [member("m1", "bob")], in: storage)
      let ended = try await versions(of: [end("m1", made[0])], in: storage)
      #expect(try await projects(of: bob, in: storage).isEmpty)
      let plain = SyncService(storage: storage, rules: AccessRules(), now: { 1000 })
      let ops = [end("m1", ended[0], "lead"), member("m2", "bob"), member("m3", "cid")]
      for operation in ops {
        #expect(try await plain.perform(space: "s", user: Caller("ann"), operation).isApplied)
      }
      #expect(try await projects(of: bob, in: storage) == ["m1", "m2"])
      #expect(try await versions(of: [member("m4", "bob")], in: storage).count == 1)
      #expect(try await versions(of: [member("m5", "bob")], in: storage).isEmpty)
    },
    Check("Members by a group in force are found, and no ended ones") { storage in
      let bob = Caller("bob", groups: ["staff"])
      var (staff, gone) = (member("m1", ""), member("m2", ""))
      staff.fields["team"] = "staff"
      gone.fields["team"] = "staff"
      gone.fields["role"] = "ended"
      let made = try await versions(of: [staff, gone, member("m3", "staff")], in: storage)
      #expect(made.count == 3)
      #expect(try await projects(of: bob, in: storage) == ["m1"])
      #expect(try await projects(of: Caller("staff"), in: storage) == ["m3"])
    },
  ]
}
