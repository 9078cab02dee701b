import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Blobs that a server has lost or holds damaged, which devices restore.
@Suite("Healing of blobs", .timeLimit(.minutes(5)))
struct BlobHealingStories {
  private let day: Int64 = 86_400_000

  private func holdings(_ pair: SnapPair, _ blobs: [Blob]) async throws -> [BlobHolding] {
    var found: [BlobHolding] = []
    for blob in blobs {
      found.append(try await pair.world.service.blobHolding(space: "test", blob.sha256))
    }
    return found
  }

  /// Returns the URL of a blob's file on the server.
  private func file(_ pair: SnapPair, _ blob: Blob) throws -> URL {
    let root = URL(fileURLWithPath: pair.a.path).deletingLastPathComponent().appendingPathComponent("vault")
    let found =
      FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?
      .compactMap { $0 as? URL } ?? []
    return try #require(found.first { $0.lastPathComponent == blob.sha256 })
  }

  @Test("Devices restore every blob of a lost folder")
  func lostFolder() async throws {
    let pair = try SnapPair()
    var blobs: [Blob] = []
    for number in 0..<7 {
      blobs.append(
        try await (number < 4 ? pair.a : pair.b).snap("\(number)", picture(25, UInt8(number))))
    }
    for device in [pair.a, pair.b] { await device.store.sync() }
    try await #require(pair.world.service.blobs).remove(space: "test")
    #expect(try await holdings(pair, blobs) == blobs.map { _ in .part(0) })
    let check = try await pair.world.service.verify(space: "test")
    #expect(check.missingBlobs == blobs.map(\.sha256).sorted())
    for device in [pair.a, pair.b] { #expect(await device.store.sync().obstacle == nil) }
    #expect(try await holdings(pair, blobs) == blobs.map { _ in .whole(size: 25) })
    #expect(try await pair.world.service.verify(space: "test").missingBlobs == [])
    // They are kept, since records name them.
    pair.world.time.advance(by: 30 * day)
    _ = try await pair.world.service.upkeep(space: "test", RetentionPolicy())
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 400 * 365 * day
    _ = try await #require(pair.world.service.blobs).sweep(before: later)
    #expect(try await holdings(pair, blobs) == blobs.map { _ in .whole(size: 25) })
  }

  @Test("Pausing stops the upload of a lost blob before its next part")
  func paused() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture())
    let (store, remote, calls) = (pair.a.store, pair.a.remote, Calls())
    await store.sync()
    try await #require(pair.world.service.blobs).remove(space: "test")
    _ = try await pair.world.service.verify(space: "test")
    remote.forgetRequests()
    remote.setAfterBlobs { request in
      if case .upload(_, 10) = request, calls.add() == 1 { try? store.pause() }
    }
    #expect(await store.sync().obstacle == .paused)
    #expect(pair.a.uploads == [0, 10])
    #expect(await store.sync(forced: true).uploadedBlobs == 1)
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
  }

  @Test("A blob that arrives after its record is kept")
  func lateBlob() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let vault = try #require(pair.world.service.blobs)
    try await vault.remove(space: "test")
    let part = BlobPart(sha256: blob.sha256, size: 45, offset: 0, bytes: Array(picture()))
    #expect(try await pair.world.service.uploadBlob(space: "test", part) == .whole(size: 45))
    _ = try await pair.world.service.upkeep(space: "test", RetentionPolicy())
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 400 * 365 * day
    _ = try await vault.sweep(before: later)
    #expect(try await holdings(pair, [blob]) == [.whole(size: 45)])
  }

  @Test("Verification finds a damaged blob, and a device repairs it", arguments: [0, 44, 45])
  func damaged(length: Int) async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try Data(repeating: 7, count: length).write(to: file(pair, blob))
    let check = try await pair.world.service.verify(space: "test")
    #expect(check.missingBlobs == [blob.sha256])
    await pair.b.store.sync()
    await pair.a.store.sync()
    let other = try #require(try pair.b.snap("1")?.image)
    #expect(try await pair.b.store.blobs.data(for: other) == picture())
  }

  @Test("A damaged blob that one device reads is repaired by another")
  func damagedRead() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    await pair.b.store.sync()
    try Data(repeating: 7, count: 45).write(to: file(pair, blob))
    let other = try #require(try pair.b.snap("1")?.image)
    await #expect(throws: BothyError.self) { try await pair.b.store.blobs.data(for: other) }
    await pair.a.store.sync()
    #expect(try await pair.b.store.blobs.data(for: other) == picture())
  }

  @Test("The right bytes, sent again, replace a damaged blob", arguments: [0, 45])
  func putAgain(length: Int) async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try Data(repeating: 7, count: length).write(to: file(pair, blob))
    let part = BlobPart(sha256: blob.sha256, size: 45, offset: 0, bytes: Array(picture()))
    #expect(try await pair.world.service.uploadBlob(space: "test", part) == .whole(size: 45))
    #expect(
      try await pair.world.service.downloadBlob(space: "test", blob.sha256, 0..<45) == Array(picture()))
  }

  @Test("The last copy isn't evicted but sent to the server")
  func lastCopy() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try await #require(pair.world.service.blobs).remove(space: "test")
    #expect(try await pair.a.store.blobs.eviction(toFit: 0).removed == 0)
    #expect(pair.a.store.blobs.isHere(blob))
    #expect(try await holdings(pair, [blob]) == [.whole(size: 45)])
    #expect(try await pair.a.store.blobs.eviction(toFit: 0).removed == 1)
    // Without the server's confirmation nothing is evicted.
    _ = try await pair.a.store.blobs.data(for: blob)
    pair.a.remote.isOffline = true
    #expect(try await pair.a.store.blobs.eviction(toFit: 0).removed == 0)
  }
}
