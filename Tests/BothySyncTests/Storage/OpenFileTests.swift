import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Files that are opened in another way than they were created.
@Suite("Files that are synced or missing", .timeLimit(.minutes(5)))
struct OpenFileTests {
  private let schema = StoreSchema(types: [
    TypeSchema("Note", fields: [FieldSchema("title", .text)]),
    TypeSchema("Draft", fields: [FieldSchema("title", .text)], synced: false),
  ])

  private func synced(_ path: String, _ declared: StoreSchema? = nil) throws -> SyncedStore {
    try SyncedStore(
      at: path, schema: declared ?? schema,
      remote: InProcessRemote(SyncService(storage: try SQLiteServerStorage(), now: { 1_767_225_600_000 })),
      configuration: .quiet)
  }

  @Test("A plain store reads a synced file, and writes only local types")
  func plain() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    do {
      let store = try synced(path)
      try store.store.write { try $0.insert(AnyRecord("Note", id: "a", ["title": "kept"])) }
    }
    let plain = try LocalStore(at: path, schema: schema)
    let id = RecordID(type: "Note", id: "a")
    #expect(try plain.record(id)?["title"] == "kept")
    #expect(throws: BothyError.self) { try plain.write { try $0.update(id, fields: ["title": "lost"]) } }
    #expect(throws: BothyError.self) { try plain.write { try $0.delete(id) } }
    let error = #expect(throws: BothyError.self) {
      try plain.write { try $0.insert(AnyRecord("Note", id: "b", ["title": "x"])) }
    }
    #expect(error?.code == .readOnly)
    try plain.write { try $0.insert(AnyRecord("Draft", id: "d", ["title": "local"])) }
    #expect(try plain.record(id)?["title"] == "kept")
    #expect(try plain.record(RecordID(type: "Draft", id: "d"))?["title"] == "local")
  }

  @Test("A plain store may open a file first after an additive update")
  func plainFirst() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    do {
      let store = try synced(path)
      try store.store.write { try $0.insert(AnyRecord("Note", id: "a", ["title": "kept"])) }
    }
    var wider = schema
    wider.version = 2
    wider.types[0].fields.append(FieldSchema("colour", .text, default: "grey"))
    wider.types.append(TypeSchema("Tag", fields: [FieldSchema("title", .text)]))
    do {
      let plain = try LocalStore(at: path, schema: wider)
      let id = RecordID(type: "Note", id: "a")
      #expect(try plain.record(id)?.fields == ["title": "kept", "colour": "grey"])
      let error = #expect(throws: BothyError.self) {
        try plain.write { try $0.insert(AnyRecord("Tag", id: "t", ["title": "x"])) }
      }
      #expect(error?.code == .readOnly)
    }
    let store = try synced(path, wider)
    #expect(try store.outboxEntries().map(\.id.id) == ["a"])
    #expect(try store.diagnose().findings.isEmpty)
  }

  @Test(
    "A save into a removed or replaced file fails instead of being lost", arguments: [false, true])
  func gone(isReplaced: Bool) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    let store = try synced(path)
    try await store.save(AnyRecord("Note", id: "a", ["title": "kept"]))
    try FileManager.default.removeItem(atPath: path)
    if isReplaced { try Data("another".utf8).write(to: URL(fileURLWithPath: path)) }
    let error = await #expect(throws: BothyError.self) {
      try await store.save(AnyRecord("Note", id: "b", ["title": "x"]))
    }
    #expect(error?.code == .cannotOpen)
    #expect(throws: BothyError.self) {
      try store.store.write { try $0.insert(AnyRecord("Note", id: "c", ["title": "x"])) }
    }
  }
}
