import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Records and the blobs they name, through edits of other fields, clearing and copies.
@Suite("Records with blobs", .timeLimit(.minutes(5)))
struct BlobRecordStories {
  /// Promises: S-78
  @Test("An edit of another field keeps the blob and makes no request about it")
  func otherField() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let before = try pair.a.store.blobs.state(of: blob)
    pair.a.remote.forgetRequests()
    try pair.a.editSnap("1") { $0.title = "later" }
    #expect(try pair.a.store.blobs.state(of: blob) == before)
    await pair.a.store.sync()
    #expect(pair.a.remote.blobRequests.isEmpty)
    #expect(pair.a.remote.requests.flatMap(\.operations).map { $0.fields.keys.sorted() } == [["title"]])
    #expect(try await pair.server("1")?["image"]?["sha256"]?.stringValue == blob.sha256)
    #expect(try pair.a.store.blobs.state(of: blob) == before)
  }

  /// Promises: X-14, S-78
  @Test("A blob field cleared offline is cleared on the server and other devices")
  func clearing() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    try await pair.a.store.save(Snap("2", "never had one"))
    await pair.a.store.sync()
    await pair.b.store.sync()
    pair.a.remote.isOffline = true
    try pair.a.editSnap("1") { $0.image = nil }
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    pair.a.remote.isOffline = false
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.remote.requests.flatMap(\.operations).map(\.fields) == [["image": .null]])
    await pair.b.store.sync()
    #expect(try pair.b.snap("1")?.image == nil)
    #expect(try pair.b.snap("2")?.image == nil)
    #expect(try await pair.server("2").map { $0.keys.sorted() } == ["title"])
    // The bytes stay until the device needs the room.
    #expect(try await pair.b.store.blobs.data(for: blob) == picture())
  }

  @Test("A blob that is replaced before its upload is never uploaded")
  func replaced() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture(45, 1))
    let second = try await pair.a.store.blobs.add(picture(15, 2))
    try pair.a.editSnap("1") { $0.image = second }
    await pair.a.store.sync()
    #expect(pair.a.uploads == [0, 10])
    #expect(try await pair.server("1")?["image"]?["size"] == 15)
  }

  @Test("A blob replaced during its upload loses nothing of the newer edit")
  func replacedMeanwhile() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture(45, 1))
    let second = try await pair.a.store.blobs.add(picture(15, 2))
    let (store, calls) = (pair.a.store.store, Calls())
    pair.a.remote.setAfterBlobs { request in
      guard case .upload(_, 20) = request, calls.add() == 1 else { return }
      try? store.write { _ = try $0.update(Snap.self, id: "1") { $0.image = second } }
    }
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(try await pair.server("1")?["image"]?["sha256"]?.stringValue == second.sha256)
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  @Test("A copied record needs one request about its blob, and no bytes or upload")
  func copied() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    await pair.b.store.sync()
    pair.b.remote.forgetRequests()
    try await pair.b.store.save(Snap("copy", "c", try pair.b.snap("1")?.image))
    #expect(await pair.b.store.sync().pushed == 1)
    #expect(pair.b.remote.blobRequests == [.holding(blob.sha256)])
  }

  @Test("Records without blobs make no requests about blobs and have no folder")
  func noBlobs() async throws {
    let pair = try SnapPair()
    try pair.a.insert("N", "n")
    try await pair.a.store.save(Snap("1", "no picture"))
    await pair.a.store.sync()
    #expect(pair.a.remote.blobRequests.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: pair.a.path + "-blobs"))
  }

  @Test("A draft's blob waits with its draft")
  func draft() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.store.blobs.add(picture())
    try await pair.a.store.save(Snap("1", "draft", blob), options: RequestOptions(writePolicy: .draft))
    await pair.a.store.sync()
    #expect(pair.a.remote.blobRequests.isEmpty)
    try await pair.a.store.blobs.evict(toFit: 0)
    try pair.a.store.release(RecordID(type: "Snap", id: "1"))
    #expect(await pair.a.store.sync().pushed == 1)
  }
}
