import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Devices whose users gain and lose the sight of records by conditions.
@Suite("Sight by conditions on devices", .faultsStrike, .timeLimit(.minutes(5)))
struct PermissionStories {
  private static let schema: StoreSchema = {
    var note = Note.schema
    note.permissions = Permissions().where(
      read: "note = 'public' OR _owner = principal.name OR EXISTS(Grant WHERE topic = record.title "
        + "AND user = principal.name)")
    let grant = TypeSchema(
      "Grant", fields: [FieldSchema("topic", .text), FieldSchema("user", .text, indexed: true)])
    return StoreSchema(types: [note, grant])
  }()

  private let users: TwoUsers

  init() throws { users = try TwoUsers(rules: AccessRules(schema: Self.schema), schema: Self.schema) }

  private func change(
    _ kind: BothySync.ChangeKind, _ record: RecordID, _ fields: [String: JSONValue] = [:]
  ) async throws {
    let service = users.world.service
    let (ann, space) = (Caller("ann"), users.world.space)
    let version = try await service.record(space: space, user: ann, record)?.version
    let operation = SyncOperation(
      id: UUIDv7.make(), kind: kind, record: record, base: kind == .insert ? nil : version, fields: fields)
    let verdict = try await service.perform(space: space, user: ann, operation)
    #expect(verdict.isApplied, "\(verdict)")
  }

  /// Promises: A-18
  @Test("A new membership brings records to a device, and its end takes them away")
  func membership() async throws {
    try users.ann.insert("T1", "hut")
    try users.ann.insert("T2", "lake")
    await users.sync(users.ann, users.bob)
    #expect(try users.bob.title() == nil)
    let grant = RecordID(type: "Grant", id: "G")
    try await change(.insert, grant, ["topic": "hut", "user": "bob"])
    await users.sync(users.bob)
    #expect(try users.bob.title() == "hut")
    #expect(try users.bob.title("T2") == nil)
    #expect(try await users.isEven())
    try await change(.update, grant, ["topic": "lake"])
    await users.sync(users.bob)
    #expect(try users.bob.title() == nil)
    #expect(try users.bob.title("T2") == "lake")
    try await change(.delete, grant)
    #expect(try await users.isEven())
    #expect(try users.bob.title("T2") == nil)
  }

  /// Promises: A-18
  @Test("A changed field brings a record to a device, and takes it away")
  func fields() async throws {
    try users.ann.insert("T1", "hut")
    await users.sync(users.ann, users.bob)
    for round in 1...3 {
      try await change(.update, .note(), ["note": "public"])
      await users.sync(users.bob)
      #expect(try users.bob.title() == "hut", "\(round)")
      try await change(.update, .note(), ["note": .null])
      await users.sync(users.bob)
      #expect(try users.bob.title() == nil, "\(round)")
    }
    #expect(try await users.isEven())
  }

  @Test("An edit of a record that was hidden meanwhile is rejected")
  func meanwhile() async throws {
    try users.ann.insert("T1", "hut")
    try users.ann.insert("T2", "lake")
    await users.sync(users.ann)
    for id in ["T1", "T2"] { try await change(.update, .note(id), ["note": "public"]) }
    await users.sync(users.bob)
    try users.bob.retitle("bob's")
    try await change(.update, .note(), ["note": .null])
    try await change(.delete, .note("T2"))
    let report = await users.bob.store.sync()
    #expect(report.rejected.map(\.code) == ["forbidden"])
    #expect(try users.bob.title("T2") == nil)
    let kept = try await users.world.serverRecords()[.note()]
    #expect(try kept?.fields.members()["title"] == "hut")
  }
}
