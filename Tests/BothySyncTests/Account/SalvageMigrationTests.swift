import BothyStore
import BothySync
import BothyTestSupport
import Foundation
import Testing

/// Salvage of a file that an earlier version of the app wrote.
@Suite(.timeLimit(.minutes(5))) struct SalvageMigrationTests {
  private static let old = StoreSchema(
    types: [
      TypeSchema("Memo", fields: [FieldSchema("title", .text)]),
      TypeSchema("Local", fields: [FieldSchema("text", .text)], synced: false),
    ])
  private static let new = StoreSchema(
    version: 2,
    types: [
      TypeSchema("Memo", fields: [FieldSchema("heading", .text)]),
      TypeSchema("Jotting", fields: [FieldSchema("number", .int)], synced: false),
    ])
  private static let steps: [Migration] = [
    Migration(to: 2, .renameField(type: "Memo", from: "title", to: "heading")),
    Migration(to: 2, .renameType(from: "Local", to: "Jotting")),
    Migration(to: 2, .renameField(type: "Jotting", from: "text", to: "number")),
    Migration(
      to: 2,
      .convertField(type: "Jotting", field: "number", from: String.self) { value in
        .int(Int64(value.text ?? "") ?? 0)
      }),
  ]
  private let options = StoreOptions(processes: .single, readers: 1)

  @Test("Salvage skips changes with newer ones, also of a renamed type")
  func renamedType() throws {
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path + "/app.bothy.damaged-1", folder.path + "/app.bothy")
    let steps = [Migration(to: 2, .renameType(from: "Memo", to: "Page"))]
    for (place, schema, type) in [(file, memo(1), "Memo"), (path, memo(2, name: "Page"), "Page")] {
      let store = try LocalStore.recording(
        at: place, schema: schema, migrations: type == "Memo" ? [] : steps, options: options,
        clock: SyncClock())
      try store.write { try $0.insert(AnyRecord(type, id: "m", ["title": .text(type)])) }
      try store.close()
    }
    let report = try StoreMaintenance.salvaged(
      file, into: path, schema: memo(2, name: "Page"), migrations: steps, options: options)
    #expect(report.skipped == [RecordID(type: "Memo", id: "m")] && report.pending == 0)
    let again = try LocalStore.recording(
      at: path, schema: memo(2, name: "Page"), migrations: steps, options: options, clock: SyncClock())
    #expect(try again.record(RecordID(type: "Page", id: "m"))?["title"] == "Page")
    try again.close()
  }

  @Test("Salvage brings records that no server has to today's schema")
  func records() throws {
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path + "/app.bothy.damaged-1", folder.path + "/app.bothy")
    let store = try LocalStore.recording(
      at: file, schema: Self.old, options: options, clock: SyncClock())
    try store.write { transaction in
      try transaction.insert(AnyRecord("Local", id: "l", ["text": "12"]))
      try transaction.insert(AnyRecord("Memo", id: "m", ["title": "kept"]))
      try transaction.flush()
      // The record was accepted as this device has it.
      try PreparedStatement("DELETE FROM bothy_outbox", in: transaction.database).run()
    }
    try store.close()
    let report = try StoreMaintenance.salvaged(
      file, into: path, schema: Self.new, migrations: Self.steps, options: options)
    #expect(report.records == 2 && report.pending == 0 && report.lost.isEmpty)
    let again = try LocalStore.recording(
      at: path, schema: Self.new, migrations: Self.steps, options: options, clock: SyncClock())
    #expect(try again.record(RecordID(type: "Jotting", id: "l"))?["number"] == 12)
    #expect(try again.record(RecordID(type: "Memo", id: "m"))?["heading"] == "kept")
    try again.close()
  }

  @Test("A salvage that was interrupted brings back no record that was deleted since")
  func interrupted() throws {
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path + "/app.bothy.damaged-1", folder.path + "/app.bothy")
    let store = try LocalStore.recording(
      at: file, schema: Self.old, options: options, clock: SyncClock())
    try store.write { transaction in
      for id in ["a", "b"] { try transaction.insert(AnyRecord("Local", id: id, ["text": "here alone"])) }
    }
    try store.close()
    let first = try StoreMaintenance.salvaged(file, into: path, schema: Self.old, options: options)
    #expect(first.records == 2)
    // The process ended before it could rename the file.
    let renamed = folder.path + "/app.bothy.salvaged-1"
    for ending in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: renamed + ending) {
      try FileManager.default.moveItem(atPath: renamed + ending, toPath: file + ending)
    }
    let app = try LocalStore.recording(at: path, schema: Self.old, options: options, clock: SyncClock())
    try app.write { _ = try $0.delete(RecordID(type: "Local", id: "a")) }
    try app.close()
    let second = try StoreMaintenance.salvaged(file, into: path, schema: Self.old, options: options)
    #expect(second.records == 0 && second.lost.isEmpty)
    let again = try LocalStore.recording(at: path, schema: Self.old, options: options, clock: SyncClock())
    #expect(try again.fetch(AnyQuery("Local")).map(\.id) == ["b"])
    #expect(!FileManager.default.fileExists(atPath: file))
    try again.close()
  }

  @Test("Salvage replaces no secret of a record that the new file has")
  func secrets() throws {
    func schema(_ version: Int) -> StoreSchema {
      let pin = FieldSchema("pin", .text, optional: true, sensitive: version == 2)
      return StoreSchema(version: version, types: [TypeSchema("User", fields: [pin])])
    }
    let steps = [Migration(to: 2, .makeSensitive(type: "User", field: "pin"))]
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path + "/app.bothy.damaged-1", folder.path + "/app.bothy")
    let secrets = MemorySecretStore()
    var options = self.options
    options.secrets = secrets
    for (place, version, pins) in [(file, 1, ["ann": "1", "bob": "2"]), (path, 2, ["ann": "3"])] {
      let store = try LocalStore.recording(
        at: place, schema: schema(version), migrations: version == 2 ? steps : [], options: options,
        clock: SyncClock())
      try store.write { transaction in
        for (id, pin) in pins { try transaction.insert(AnyRecord("User", id: id, ["pin": .text(pin)])) }
        try transaction.flush()
        try PreparedStatement("DELETE FROM bothy_outbox", in: transaction.database).run()
      }
      try store.close()
    }
    let report = try StoreMaintenance.salvaged(
      file, into: path, schema: schema(2), migrations: steps, options: options)
    #expect(report.records == 1 && report.lost.isEmpty)
    let pins = ["ann", "bob"].map { secrets.secret(SecretKey(RecordID(type: "User", id: $0), field: "pin")) }
    #expect(pins == ["3", "2"])
  }
}
