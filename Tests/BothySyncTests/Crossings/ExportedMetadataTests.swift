import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

@Suite("Metadata in exported work", .timeLimit(.minutes(5)))
struct ExportedMetadataTests {
  @Test("Exported work keeps the creation times and authors of records")
  func aDocumentKeepsWhenAndByWhomRecordsWereMade() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    try a.put("Memo", "old", ["title": .text("old")])
    await a.store.sync()
    world.time.advance(by: 60_000)
    a.remote.isOffline = true
    try a.set("Memo", "old", ["note": .text("edited")])
    try a.put("Memo", "new", ["title": .text("new")])
    let before = try ["old", "new"].map { try #require(try a.record("Memo", $0)).metadata }
    let document = a.path + ".pending"
    try await a.store.signOut(.export(to: document))
    let path = a.path + "-again"
    try SyncedStore.restorePending(from: document, into: path, schema: memo(1))
    let again = try SyncedStore(at: path, schema: memo(1), remote: a.remote, configuration: .quiet)
    let after = try ["old", "new"].map {
      try #require(try again.store.record(RecordID(type: "Memo", id: $0))).metadata
    }
    #expect(after == before)
    #expect(after.allSatisfy { $0.modified != nil && $0.created != nil })
  }
}
