import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// The blobs that a server keeps, and the time for which it keeps them.
@Suite("The vault of a server", .faultsStrike, .timeLimit(.minutes(5)))
struct FolderBlobStorageTests {
  private let day: Int64 = 86_400_000

  private func vault(_ world: SimulatedWorld) throws -> any BlobFileStorage {
    try #require(world.service.blobs)
  }

  @Test("An upload that no record names is deleted by age, and named ones stay")
  func sweep() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    let kept = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    pair.a.loseConnection(after: 1)
    let fresh = try await pair.a.snap("2", picture(15, 2))
    await pair.a.store.sync()
    let service = pair.world.service
    let begun = BlobPart(sha256: String(repeating: "b", count: 64), size: 9, offset: 0, bytes: [1])
    _ = try await service.uploadBlob(space: "test", begun)
    let vault = try vault(pair.world)
    #expect(try await vault.sweep(before: pair.world.time.now) == 0)
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 400 * 365 * day
    #expect(try await vault.sweep(before: later) == 2)
    #expect(try await service.blobHolding(space: "test", kept.sha256) == .whole(size: 45))
    #expect(try await service.blobHolding(space: "test", fresh.sha256) == .part(0))
    #expect(try await service.blobHolding(space: "test", begun.sha256) == .part(0))
    // The device doesn't trust for ever that the server still has a blob.
    pair.a.remote.setScript { .none }
    pair.world.time.advance(by: 2 * 3_600_000)
    pair.a.remote.forgetRequests()
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(pair.a.uploads == [0, 10])
    #expect(try await service.blobHolding(space: "test", fresh.sha256) == .whole(size: 15))
  }

  @Test("A space knows nothing of another space's blobs")
  func spaces() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let service = pair.world.service
    #expect(try await service.blobHolding(space: "other", blob.sha256) == .part(0))
    let error = await #expect(throws: BlobError.self) {
      try await service.downloadBlob(space: "other", blob.sha256, 0..<10)
    }
    #expect(error?.code == .notFound)
    let stranger = try pair.world.addDevice("c", schema: .snaps, space: "other")
    let gone = await #expect(throws: BothyError.self) { try await stranger.store.blobs.data(for: blob) }
    #expect(gone?.code == .blobMissing)
    #expect(try stranger.store.blobs.state(of: blob) == .missing)
  }

  @Test("Parts outside the size and invalid names are rejected")
  func invalid() async throws {
    let service = try SnapPair().world.service
    let name = String(repeating: "a", count: 64)
    for part in [
      BlobPart(sha256: name, size: 2, offset: 0, bytes: [1, 2, 3]),
      BlobPart(sha256: name, size: 2, offset: 3, bytes: []),
      BlobPart(sha256: name, size: -1, offset: 0, bytes: []),
      BlobPart(sha256: "../../etc/passwd", size: 1, offset: 0, bytes: [1]),
      BlobPart(sha256: name.uppercased(), size: 1, offset: 0, bytes: [1]),
    ] {
      let error = await #expect(throws: BlobError.self) {
        try await service.uploadBlob(space: "test", part)
      }
      #expect(error?.code == .invalid)
    }
  }

  @Test("Concurrent uploads of one blob end with the right bytes", arguments: [1, 7, 64])
  func concurrent(partSize: Int) async throws {
    let pair = try SnapPair()
    let service = pair.world.service
    let bytes = [UInt8](picture(300))
    let blob = try await pair.a.store.blobs.add(picture(300))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var offset: Int64 = 0
          while true {
            let end = min(bytes.count, Int(offset) + partSize)
            let part = BlobPart(
              sha256: blob.sha256, size: 300, offset: offset, bytes: Array(bytes[Int(offset)..<end]))
            guard case .part(let received) = try await service.uploadBlob(space: "test", part) else {
              return
            }
            offset = received
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await service.downloadBlob(space: "test", blob.sha256, 0..<1000) == bytes)
  }
}
