import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

@Suite("Bytes of lost content", .timeLimit(.minutes(5)))
struct LostBlobRestoreTests {
  private static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema("Snap", fields: [FieldSchema("title", .text), FieldSchema("image", .blob, optional: true)])
    ])

  /// A photo gives way to another device's, and the journal keeps it for thirty days.
  @Test("A photo that gave way is restored with its bytes", arguments: [6, 8, 20])
  func aPhotoThatGaveWayComesBackWithItsBytes(days: Int) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    let b = try world.device("b", Self.schema, policy: .remoteWins)
    try a.put("Snap", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    let theirs = try await a.store.blobs.add(Data("theirs".utf8))
    try a.set("Snap", "1", ["image": FieldValue(theirs)])
    await a.store.sync()
    let mine = try await b.store.blobs.add(Data("mine".utf8))
    try b.set("Snap", "1", ["image": FieldValue(mine)])
    await b.store.sync()
    #expect(try b.record("Snap", "1")?["image"] == FieldValue(theirs))
    world.time.advance(by: Int64(days) * 86_400_000)
    // Another record with a picture is synced meanwhile.
    let other = try await b.store.blobs.add(Data("other".utf8))
    try b.put("Snap", "2", ["title": .text("two"), "image": FieldValue(other)])
    await b.store.sync()
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    #expect(entry.isRestorable)
    let receipt = try await b.store.journal.restore(entry)
    _ = try? await receipt.outcome()
    #expect(try await b.store.blobs.data(for: mine) == Data("mine".utf8))
    #expect(
      try await world.server("Snap", "1")?["image"]
        == JSONValue.object(["sha256": .string(mine.sha256), "size": .int(4)]))
  }

  @Test("A photo that gave way stays, whatever the budget, and returns to the server")
  func aPhotoThatGaveWayExceedsTheBudget() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema)
    let b = try world.device("b", Self.schema, policy: .remoteWins)
    try a.put("Snap", "1", ["title": .text("one")])
    await a.store.sync()
    // The server has the bytes, and no record of it names them for long.
    let mine = try await b.store.blobs.add(Data("mine".utf8))
    try b.put("Snap", "2", ["title": .text("two"), "image": FieldValue(mine)])
    await b.store.sync()
    try b.change { _ = try $0.delete(RecordID(type: "Snap", id: "2")) }
    await b.store.sync()
    let theirs = try await a.store.blobs.add(Data("theirs".utf8))
    try a.set("Snap", "1", ["image": FieldValue(theirs)])
    await a.store.sync()
    try b.set("Snap", "1", ["image": FieldValue(mine)])
    await b.store.sync()
    #expect(try b.record("Snap", "1")?["image"] == FieldValue(theirs))
    try await b.store.blobs.evict(toFit: 0)
    #expect(b.store.blobs.isHere(mine))
    try await #require(world.service.blobs).remove(space: "test")
    world.time.advance(by: 8 * 86_400_000)
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    let receipt = try await b.store.journal.restore(entry)
    _ = try? await receipt.outcome()
    #expect(try await world.service.blobHolding(space: "test", mine.sha256) == .whole(size: 4))
    #expect(
      try await world.server("Snap", "1")?["image"]
        == JSONValue.object(["sha256": .string(mine.sha256), "size": .int(4)]))
  }
}

@Suite("Bytes of a reverted edit", .timeLimit(.minutes(5)))
struct LostBlobOfARevertedEditTests {
  private static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema("Snap", fields: [FieldSchema("title", .text), FieldSchema("image", .blob, optional: true)])
    ])

  @Test("A reverted photo is restored with its bytes", arguments: [6, 8])
  func aPhotoThatWasRevertedComesBackWithItsBytes(days: Int) async throws {
    let world = try SimulatedWorld()
    let b = try world.device("b", Self.schema)
    try b.put("Snap", "1", ["title": .text("one")])
    await b.store.sync()
    let mine = try await b.store.blobs.add(Data("mine".utf8))
    try b.set("Snap", "1", ["image": FieldValue(mine)])
    // The revert is a mistake.
    try b.store.resolve(RecordID(type: "Snap", id: "1"), .revert)
    world.time.advance(by: Int64(days) * 86_400_000)
    // Another record with a picture is synced meanwhile.
    let other = try await b.store.blobs.add(Data("other".utf8))
    try b.put("Snap", "2", ["title": .text("two"), "image": FieldValue(other)])
    await b.store.sync()
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    #expect(entry.isRestorable)
    try await b.store.journal.restore(entry)
    await b.store.sync()
    #expect(try b.store.outboxEntries().isEmpty)
    let bytes = try? await b.store.blobs.data(for: mine)
    #expect(bytes == Data("mine".utf8))
  }
}
