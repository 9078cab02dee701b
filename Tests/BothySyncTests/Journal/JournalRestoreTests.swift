import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

@Suite("Restoring lost content", .timeLimit(.minutes(5)))
struct JournalRestoreTests {
  /// Returns a pair on which an edit made here has given way to `theirs`.
  private func lost(
    theirs: (SimulatedDevice) throws -> Void = { try $0.retitle("theirs") },
    mine: (SimulatedDevice) throws -> Void = { try $0.retitle("mine") },
    configure: (inout SyncOptions) -> Void = { _ in }
  ) async throws -> Pair {
    let pair = try await Pair.sharing(["T1"], configure)
    try theirs(pair.b)
    await pair.b.store.sync()
    try mine(pair.a)
    await pair.a.store.sync()
    return pair
  }

  private func entry(_ pair: Pair) throws -> JournalEntry {
    try #require(try pair.a.store.journal.entries(losing: true).first)
  }

  @Test("Only the lost fields are restored, on top of the current record")
  func fields() async throws {
    let pair = try await lost(theirs: { try $0.edit { ($0.title, $0.own[0]) = ("theirs", 1) } })
    try pair.b.edit { $0.note = "later" }
    await pair.b.store.sync()
    await pair.a.store.sync()
    let entry = try entry(pair)
    let found = entry.lostFields.map { [.string($0.name), $0.base, $0.local, $0.now] }
    #expect(found == [["title", "start", "mine", "theirs"]])
    #expect(entry.replaced != nil && entry.isRestorable)
    #expect(try entry.lost(as: Note.self)?.title == "mine")
    let receipt = try await pair.a.store.journal.restore(entry)
    #expect(try pair.a.note()?.note == "later")
    #expect(try await receipt.outcome() == .accepted(version: "4"))
    #expect(try await pair.serverTitle() == "mine")
    #expect(try await pair.server("T1")?["a"] == 1)
  }

  @Test("An entry of a transaction is restored with all of it, in one transaction")
  func together() async throws {
    let pair = try Pair(schema: .bank)
    try pair.b.open(["x": 100, "y": 100])
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    try pair.b.change { _ = try $0.update(BankAccount.self, id: "x") { $0.balance = 95 } }
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.balances() == ["x": 95, "y": 100])
    let entry = try #require(try pair.a.store.journal.entries(of: .account("y"), losing: true).first)
    try await pair.a.store.journal.restore(entry)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    pair.a.remote.forgetRequests()
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 110])
    let sent = pair.a.remote.requests.flatMap(\.operations)
    #expect(sent.count == 2 && Set(sent.map(\.group?.id)).count == 1 && sent[0].group != nil)
    let other = try #require(try pair.a.store.journal.entries(of: .account("x"), losing: true).first)
    await #expect(throws: BothyError.self) { try await pair.a.store.journal.restore(other) }
  }

  @Test("What the limits left of a transaction isn't restored alone")
  func cut() async throws {
    let pair = try Pair(schema: .bank) { $0.journal = SyncOptions.JournalLimits(rows: 3) }
    try pair.b.open(["x": 100, "y": 100, "z": 0])
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    try pair.b.change { _ = try $0.update(BankAccount.self, id: "x") { $0.balance = 95 } }
    await pair.b.store.sync()
    await pair.a.store.sync()
    for balance in [1, 2] {
      try pair.b.change { _ = try $0.update(BankAccount.self, id: "z") { $0.balance = balance } }
      await pair.b.store.sync()
      try pair.a.change { _ = try $0.update(BankAccount.self, id: "z") { $0.balance = 50 } }
      await pair.a.store.sync()
    }
    let store = pair.a.store
    let entries = try store.journal.entries(losing: true)
    #expect(entries.count == 3)
    let left = try #require(entries.last)
    #expect(left.record != .account("z") && !left.lostFields.isEmpty && !left.isRestorable)
    let error = await #expect(throws: BothyError.self) { try await store.journal.restore(left) }
    #expect(error?.code == .expired)
    #expect(try pair.a.balances() == ["x": 95, "y": 100, "z": 2])
    // The limits cut no other transaction.
    try await store.journal.restore(#require(entries.first))
    #expect(try pair.a.balance("z") == 50)
  }

  @Test("What a purge left of a transaction isn't restored alone", arguments: [false, true])
  func purgedPart(isPending: Bool) async throws {
    let pair = try Pair(schema: .bank)
    try pair.b.open(["x": 100, "y": 100])
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    if !isPending {
      try pair.b.change { _ = try $0.update(BankAccount.self, id: "x") { $0.balance = 95 } }
      await pair.b.store.sync()
      await pair.a.store.sync()
    }
    let store = pair.a.store
    try store.purge(.account("x"), includingPending: true)
    let left = try #require(try store.journal.entries(of: .account("y"), losing: true).first)
    #expect(left.lostFields.map(\.local) == [110] && !left.isRestorable)
    let error = await #expect(throws: BothyError.self) { try await store.journal.restore(left) }
    #expect(error?.code == .expired)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances()["y"] == 100)
  }

  @Test("A second restore reports so, even after a relaunch, and changes nothing")
  func once() async throws {
    let pair = try await lost()
    let entry = try entry(pair)
    try await pair.a.store.journal.restore(entry)
    try pair.a.retitle("later")
    try pair.a.restart()
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.journal.restore(entry) }
    #expect(error?.code == .alreadyRestored)
    #expect(try pair.a.title() == "later")
    #expect(try pair.a.store.journal.entry(entry.number)?.restored != nil)
  }

  @Test("A record that others deleted is restored with its content and container")
  func deleted() async throws {
    let pair = try Pair()
    try pair.b.change { try $0.insert(Note(id: "T1", "start"), in: "work/one") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.remove()
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    await pair.a.store.sync()
    #expect(try pair.a.note() == nil)
    let entry = try entry(pair)
    #expect(entry.isGone && entry.outcome == .overwritten(version: ""))
    try await pair.a.store.journal.restore(entry)
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "mine")
    #expect(try pair.a.record("Note", "T1")?.container == "work/one")
  }

  @Test("A deletion that was undone is made again")
  func deletion() async throws {
    let pair = try await lost(mine: { try $0.remove() })
    #expect(try pair.a.title() == "theirs")
    let entry = try entry(pair)
    #expect(entry.isUndoneDeletion && entry.lost == nil)
    try await pair.a.store.journal.restore(entry)
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == nil)
  }

  /// Returns a pair on which A has withdrawn its deletion of a note that both have, and doesn't have the note.
  private func withdrawn() async throws -> Pair {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.a.remove()
    try pair.a.store.resolve(.note(), .removeLocal)
    return pair
  }

  @Test("A withdrawn deletion is made again of the content that it removed")
  func withdrawnDeletion() async throws {
    let pair = try await withdrawn()
    try await pair.a.store.journal.restore(entry(pair))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == nil)
  }

  @Test("A restored deletion gives way to another device's record of its id")
  func deletionOfAnother() async throws {
    let pair = try Pair(policy: .fieldByField)
    let store = pair.a.store
    try pair.a.atomic { try $0.insert(Note(id: "T1", "mine")) }
    try pair.a.remove()
    try store.resolve(.note(), .removeLocal)
    try pair.b.insert("T1", "theirs")
    await pair.b.store.sync()
    let entry = try #require(try store.journal.entries(losing: true).first { $0.isUndoneDeletion })
    try await store.journal.restore(entry)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "theirs")
    let reported = try #require(try store.journal.entries(losing: true).first)
    #expect(reported.isUndoneDeletion && reported.isRestorable && reported.number > entry.number)
    #expect(reported.policy == "fieldByField")
  }

  @Test("A withdrawn deletion is made again after a field was renamed")
  func renamedDeletion() async throws {
    let pair = try await withdrawn()
    var schema = StoreSchema(version: 2, types: [Note.schema])
    schema.types[0].fields[0] = FieldSchema("name", .text)
    try pair.a.restart(
      schema: schema, migrations: [Migration(to: 2, .renameField(type: "Note", from: "title", to: "name"))])
    try await pair.a.store.journal.restore(entry(pair))
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == nil)
  }

  @Test("A withdrawn deletion whose content was purged deletes nothing unasked")
  func purgedDeletion() async throws {
    let pair = try await withdrawn()
    try pair.a.store.purge(.note())
    try await pair.a.store.journal.restore(entry(pair))
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "start")
  }

  @Test("A change that a person reverted by mistake is restored")
  func reverted() async throws {
    let pair = try await Pair.sharing()
    try pair.a.edit { $0.note = "mine" }
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.note()?.note == nil)
    try await pair.a.store.journal.restore(entry(pair))
    #expect(try pair.a.note()?.note == "mine")
    #expect(try pair.a.isPending())
  }

  @Test("Restoring throws for entries that expired, lost nothing or don't fit the schema")
  func errors() async throws {
    let pair = try await lost(configure: { $0.journal = SyncOptions.JournalLimits(rows: 1) })
    let first = try entry(pair)
    try pair.b.retitle("theirs again")
    await pair.b.store.sync()
    try pair.a.retitle("mine again")
    await pair.a.store.sync()
    let store = pair.a.store
    let expired = await #expect(throws: BothyError.self) { try await store.journal.restore(first) }
    #expect(expired?.code == .expired)
    try pair.a.insert("T2", "fine")
    await pair.a.store.sync()
    let fine = try #require(try pair.a.store.journal.entries(of: .note("T2")).first)
    let nothing = await #expect(throws: BothyError.self) { try await store.journal.restore(fine) }
    #expect(nothing?.code == .notRestorable)
    let kept = try entry(pair)
    var schema = StoreSchema(version: 2, types: [Note.schema])
    schema.types[0].fields[0] = FieldSchema("title", .int)
    try pair.a.restart(
      schema: schema,
      migrations: [
        Migration(
          to: 2,
          .convertField(type: "Note", field: "title", from: String.self) { title in
            if title == .text("mine again") { throw BothyError(.invalidValue, "It is no number.") }
            return .int(7)
          })
      ])
    let misfit = await #expect(throws: BothyError.self) { try await pair.a.store.journal.restore(kept) }
    #expect(misfit?.code == .notRestorable)
    #expect(misfit?.message.contains("Note.title") ?? false)
  }

  @Test("A field that was renamed since is restored under its new name")
  func renamed() async throws {
    let pair = try await lost()
    var schema = StoreSchema(version: 2, types: [Note.schema])
    schema.types[0].fields[0] = FieldSchema("name", .text)
    try pair.a.restart(
      schema: schema, migrations: [Migration(to: 2, .renameField(type: "Note", from: "title", to: "name"))])
    let entry = try entry(pair)
    #expect(entry.lostFields.map(\.name) == ["name"])
    try await pair.a.store.journal.restore(entry)
    #expect(try pair.a.record("Note", "T1")?["name"] == "mine")
  }

  @Test("The journal never has sensitive values, or values of fields that become sensitive")
  func sensitive() async throws {
    func schema(_ version: Int, sensitive: Bool) -> StoreSchema {
      StoreSchema(
        version: version,
        types: [
          TypeSchema(
            "User",
            fields: [
              FieldSchema("name", .text), FieldSchema("pin", .text, optional: true, sensitive: sensitive),
            ])
        ])
    }
    for isSensitive in [true, false] {
      var rules = AccessRules()
      rules.receiveSecrets = { _, _, _ in }
      let pair = try Pair(schema: schema(1, sensitive: isSensitive), rules: rules)
      let id = RecordID(type: "User", id: "u")
      try pair.b.put(AnyRecord("User", id: "u", ["name": "ann"]))
      await pair.b.store.sync()
      await pair.a.store.sync()
      try pair.b.change { try $0.update(id, fields: ["name": "theirs"]) }
      await pair.b.store.sync()
      try pair.a.change { try $0.update(id, fields: ["name": "mine", "pin": "correct-horse"]) }
      await pair.a.store.sync()
      if !isSensitive {
        try pair.a.restart(
          schema: schema(2, sensitive: true),
          migrations: [Migration(to: 2, .makeSensitive(type: "User", field: "pin"))])
      }
      let entry = try entry(pair)
      #expect(entry.lostFields.map(\.name) == ["name"])
      #expect(try entry.lost?.members() == ["name": "mine"])
    }
  }

  @Test("A record accepted as it is here is sent when it is restored")
  func acceptedHere() async throws {
    let pair = try await Pair.sharing([], rules: .withoutNotes) {
      $0.rejectionPolicy = .quarantine(after: 1)
    }
    let store = pair.a.store
    try pair.a.insert("T1", "mine", note: "refused")
    await store.sync()
    try store.resolve(.note(), .keepLocal)
    await store.sync()
    pair.world.setRules(AccessRules())
    let entry = try #require(try store.journal.entries(losing: true).first)
    let receipt = try await store.journal.restore(entry)
    #expect(receipt.known == .pending)
    await store.sync()
    #expect(try await pair.serverTitle() == "mine")
  }

  @Test("A counter regains the count made here, on top of others' counts")
  func counted() async throws {
    let pair = try await lost(
      theirs: { try $0.edit { $0.score += 5 } },
      mine: { try $0.edit { ($0.score, $0.title) = ($0.score + 100, "mine") } })
    try await pair.a.store.journal.restore(try entry(pair))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 105)
  }

  @Test("A recreated record has the fields that only newer apps know")
  func unknownFields() async throws {
    let old = StoreSchema(types: [TypeSchema("Note", fields: [FieldSchema("title", .text)])])
    let colour = FieldSchema("colour", .text, optional: true)
    let new = StoreSchema(
      version: 2, types: [TypeSchema("Note", fields: [FieldSchema("title", .text), colour])])
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: .remoteWins)
    let newer = try world.addDevice("newer", schema: new, configuration: configuration)
    let older = try world.addDevice("older", schema: old, configuration: configuration)
    try newer.put(AnyRecord("Note", id: "T1", ["title": "a", "colour": "red"]))
    for device in [newer, older] { await device.store.sync() }
    try newer.change { _ = try $0.delete(.note()) }
    await newer.store.sync()
    try older.change { _ = try $0.update(.note(), fields: ["title": "b"]) }
    await older.store.sync()
    let entry = try #require(try older.store.journal.entries(losing: true).first)
    try await older.store.journal.restore(entry)
    for device in [older, newer] { await device.store.sync() }
    #expect(try newer.record("Note", "T1")?["title"] == "b")
    #expect(try newer.record("Note", "T1")?["colour"] == "red")
  }
}
