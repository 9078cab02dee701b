import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Old and new apps on one server, where content survives old apps that don't know it or can't read it.
@Suite("Old and new app side by side", .timeLimit(.minutes(15)))
struct SideBySideTests {
  private static let old = StoreSchema(version: 1, OldNote.self)
  private static let new = StoreSchema(
    version: 2,
    types: [
      TypeSchema(
        "Note",
        fields: [
          FieldSchema("heading", .text, merge: .keepBoth, wire: "title"),
          FieldSchema("count", .int, default: 0, merge: .counter), FieldSchema("prio", .text, optional: true),
          FieldSchema("place", .text, optional: true), FieldSchema("colour", .text, optional: true),
        ])
    ])
  private static let guarded = ["prio", "due", "colour"]

  static let policies: [MergePolicy] = [
    .remoteWins, .localWins, .localWins(.changedFields), .latestWins, .fieldByField,
    .custom("mine") { context in context.client.map { .merged($0) } ?? .client },
    .custom("forgetful") { context in
      guard let mine = context.client else { return .client }
      return .merged(mine.filter { ["title", "heading", "count", "place"].contains($0.key) })
    },
    .ofOldNotes { conflict in conflict.local.map { .merged($0) } ?? .local },
    .ofOldNotes { conflict in conflict.suggestion.map { .merged($0) } ?? .remote },
    .ofOldNotes { conflict in
      guard let mine = conflict.local else { return .local }
      var note = OldNote(id: mine.id, mine.title)
      (note.count, note.place) = (mine.count, conflict.remote?.place)
      return .merged(note)
    },
  ]

  private func id(_ name: String) -> RecordID { RecordID(type: "Note", id: name) }

  @Test("A conflict doesn't make an old app write content that it can't read")
  func conflict() async throws {
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: Self.new)
    let older = try world.addDevice("older", schema: Self.old)
    try newer.put(AnyRecord("Note", id: "N", ["heading": "a", "prio": "high", "colour": "red"]))
    await newer.store.sync()
    await older.store.sync()
    #expect(try older.record("Note", "N")?.fields["prio"] == 0)
    try newer.change { _ = try $0.update(id("N"), fields: ["place": "hut", "prio": "low"]) }
    try older.change { _ = try $0.update(id("N"), fields: ["title": "c"]) }
    await newer.store.sync()
    await older.store.sync()
    let fields = try await world.serverRecords()[id("N")]?.fields.members()
    #expect(fields == ["title": "c", "count": 0, "place": "hut", "prio": "low", "colour": "red"])
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  @Test("An old app's own value replaces the one that it couldn't read")
  func written() async throws {
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: Self.new)
    let older = try world.addDevice("older", schema: Self.old)
    try newer.put(AnyRecord("Note", id: "N", ["heading": "a", "prio": "high"]))
    await newer.store.sync()
    await older.store.sync()
    try older.change { _ = try $0.update(id("N"), fields: ["prio": 5]) }
    try older.change { _ = try $0.update(id("N"), fields: ["prio": 0]) }
    await older.store.sync()
    #expect(try await world.serverRecords()[id("N")]?.fields.members()["prio"] == 0)
    #expect(try await world.serverDigest().digest == older.store.digest().digest)
  }

  @Test(
    "Random edits with conflicts leave unread fields alone under each policy",
    arguments: 0..<policies.count)
  func randomEdits(_ policy: Int) async throws {
    try await run(policy, seed: UInt64(1000 + policy))
  }

  private func run(_ policy: Int, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: Self.policies[policy])
    configuration.rejectionPolicy = .discardAndRefetch
    let world = try SimulatedWorld()
    // A policy for the old app's type doesn't apply to the new one's.
    let isTyped = configuration.merging.default.name == OldNote.typeName
    let newer = try world.addDevice(
      "newer", schema: Self.new, configuration: isTyped ? .quiet : configuration)
    let olds = try ["old", "older"].map {
      try world.addDevice($0, schema: Self.old, configuration: configuration)
    }
    func name() -> String { "N\(random.next() % 6)" }
    for step in 0..<RandomRuns.count(250) {
      let comment = Comment("seed \(seed), policy \(Self.policies[policy].name), step \(step)")
      world.time.advance(by: 1000)
      let isNew = random.next() % 2 == 0
      let device = isNew ? newer : olds[Int(random.next() % 2)]
      if isNew {
        try Self.edit(device, id(name()), &random)
      } else {
        try Self.editOld(device, id(name()), &random)
      }
      guard random.next() % 3 == 0 else { continue }
      let before = try await world.serverRecords()
      let report = await device.store.sync()
      if isNew { continue }
      // The result of a typed policy always fits.
      if isTyped { #expect(report.rejected.isEmpty, comment) }
      let after = try await world.serverRecords()
      for (id, record) in before {
        guard let now = after[id] else { continue }
        let (was, are) = (try record.fields.members(), try now.fields.members())
        for field in Self.guarded { #expect(was[field] == are[field], comment) }
      }
    }
    for _ in 0..<3 { for device in [newer] + olds { await device.store.sync() } }
    let digest = try await world.serverDigest().digest
    for device in [newer] + olds {
      #expect(try device.store.digest().digest == digest, "seed \(seed)")
      let left = try device.store.outboxEntries().map { ($0.id.id, $0.change, $0.reason?.message) }
      #expect(left.isEmpty, "seed \(seed): \(left)")
    }
    for (id, record) in try await world.serverRecords() {
      let title = try record.fields.members()["title"]?.stringValue
      #expect(try newer.record("Note", id.id)?["heading"] == title.map { .text($0) })
      for old in olds { #expect(try old.record("Note", id.id)?["title"] == title.map { .text($0) }) }
    }
  }

  private static func edit(_ device: SimulatedDevice, _ id: RecordID, _ random: inout SeededGenerator) throws
  {
    let text = FieldValue.text("n\(random.next() % 1000)")
    guard let record = try device.record("Note", id.id) else {
      return try device.put(AnyRecord("Note", id: id.id, ["heading": text, "prio": "high", "colour": text]))
    }
    let pick = random.next() % 6
    try device.change { transaction in
      switch pick {
      case 0: try transaction.update(id, fields: ["heading": text])
      case 1: try transaction.update(id, fields: ["prio": text])
      case 2: try transaction.update(id, fields: ["colour": text])
      case 3: try transaction.update(id, fields: ["prio": .null, "place": text])
      case 4:
        try transaction.update(id, fields: ["count": .int((Self.int(record["count"]) ?? 0) + 1)])
      default: _ = try transaction.delete(id)
      }
    }
  }

  private static func editOld(_ device: SimulatedDevice, _ id: RecordID, _ random: inout SeededGenerator)
    throws
  {
    let text = FieldValue.text("o\(random.next() % 1000)")
    // The new app creates records, so an old one must express its changes in the fields.
    guard let record = try device.record("Note", id.id) else { return }
    let pick = random.next() % 7
    if pick == 6,
      try device.store.outboxEntries().contains(where: { $0.id == id && $0.operationID == nil })
    {
      try device.store.resolve(id, .revert)
      return
    }
    try device.change { transaction in
      switch pick {
      case 0: try transaction.update(id, fields: ["title": text])
      case 1: try transaction.update(id, fields: ["place": text])
      case 2:
        try transaction.update(id, fields: ["count": .int((Self.int(record["count"]) ?? 0) + 1)])
      case 3:
        // Like a typed save, this writes every field that the app knows.
        var fields = record.fields
        fields["title"] = text
        try transaction.update(id, fields: fields)
      case 4:
        // Creates the whole record again.
        var fields = record.fields
        fields["title"] = text
        _ = try transaction.delete(id)
        try transaction.insert(AnyRecord("Note", id: id.id, fields))
      case 5: _ = try transaction.delete(id)
      default: break
      }
    }
  }

  private static func int(_ value: FieldValue) -> Int64? {
    if case .int(let number) = value { number } else { nil }
  }
}
