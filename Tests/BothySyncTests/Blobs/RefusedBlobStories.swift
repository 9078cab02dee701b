import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Blobs that can't be uploaded: their records wait and are reported, and all other work continues.
@Suite("Blobs that can't be uploaded", .timeLimit(.minutes(5)))
struct RefusedBlobStories {
  private let one = RecordID(type: "Snap", id: "1")

  @Test("A blob over the server's limit keeps only its own record rejected")
  func tooLarge() async throws {
    let pair = try SnapPair(blobs: BlobLimits(largest: 40))
    try await pair.a.snap("1", picture(45))
    try await pair.a.snap("2", picture(12, 2))
    try await pair.a.store.save(Snap("3", "depends", in: "1"))
    try pair.a.insert("N", "n")
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(report.rejected.map(\.record) == [one])
    #expect(report.rejected.map(\.code) == ["blobTooLarge"])
    #expect(report.pushed == 2)
    #expect(report.blocked.map(\.record.id) == ["3"])
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [one])
    #expect(try pair.a.store.rejectedEntries().first?.reason?.message.contains("45") == true)
    try pair.a.editSnap("1") { $0.image = nil }
    let further = await pair.a.store.sync()
    #expect(further.pushed == 2)
    #expect(try pair.a.store.rejectedEntries().isEmpty)
    #expect(try await pair.server("1")?["image"] == nil)
  }

  @Test("A full space rejects a blob by its own code, and it stays local")
  func quota() async throws {
    let pair = try SnapPair(blobs: BlobLimits(quota: 50, least: 1))
    try await pair.a.snap("1", picture(45))
    await pair.a.store.sync()
    let second = try await pair.a.snap("2", picture(20, 2))
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["quotaExceeded"])
    #expect(try pair.a.store.blobs.state(of: second) == .local)
  }

  @Test("A server without blobs rejects a record until its blob is removed")
  func unsupported() async throws {
    let pair = try SnapPair(blobs: nil)
    let blob = try await pair.a.snap("1", picture())
    try pair.a.insert("N", "n")
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["blobsUnsupported"])
    #expect(report.pushed == 1)
    #expect(try pair.a.store.state(of: one).name == "rejected")
    #expect(try await pair.a.store.blobs.data(for: blob) == picture())
    let error = await #expect(throws: BothyError.self) {
      let other = try await pair.b.store.blobs.add(picture(3))
      try await pair.b.store.save(Snap("2", "t", other), options: .init(writePolicy: .remoteThenLocal))
    }
    #expect(error?.rejection?.code == "blobsUnsupported")
    #expect(try pair.b.snap("2") == nil)
    try pair.a.editSnap("1") { $0.image = nil }
    #expect(await pair.a.store.sync().pushed == 1)
  }

  @Test("The lost blob of a change in doubt refuses no newer edit")
  func supersededInDoubt() async throws {
    let pair = try SnapPair { $0.rejectionPolicy = .discardAndRefetch }
    let store = pair.a.store
    await store.sync()
    try await pair.a.snap("1", picture(45))
    pair.a.remote.setScript(forExchange: { $0.operations.isEmpty ? .none : .lostRequest })
    #expect(await store.sync().obstacle == .unreachable)
    pair.a.remote.setScript { .none }
    let other = try await store.blobs.add(picture(20, 2))
    try pair.a.editSnap("1") { $0.image = other }
    // The server has the first blob, and deletes it later because no record of it arrived.
    #expect(try await store.blobs.evict(toFit: 0) == 45)
    try await pair.world.service.blobs?.remove(space: "test")
    pair.world.time.advance(by: 7_200_000)
    let report = await store.sync()
    #expect(report.rejected.isEmpty && report.pushed == 1)
    #expect(try pair.a.snap("1")?.image == other)
    #expect(try await pair.server("1")?["image"]?["sha256"]?.stringValue == other.sha256)
  }

  @Test("The rejection policy quarantines blobs too")
  func quarantined() async throws {
    let pair = try SnapPair(blobs: nil) { $0.rejectionPolicy = .quarantine(after: 2) }
    try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    #expect(try pair.a.store.state(of: one).name == "rejected")
    await pair.a.store.sync()
    #expect(try pair.a.store.state(of: one).name == "quarantined")
  }

  @Test(
    "A transient upload failure ends the sync last, and the next sync resumes it",
    arguments: [
      (FaultyRemote.Fault.lostRequest, "unreachable"),
      (.status(401, retryAfter: nil), "signInRequired"),
      (.status(429, retryAfter: 7), "throttled"), (.status(500, retryAfter: nil), "serverError"),
    ])
  func transient(fault: FaultyRemote.Fault, name: String) async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture())
    try pair.a.insert("N", "n")
    pair.a.remote.setBlobScript { if case .upload(_, 20) = $0 { fault } else { .none } }
    let report = await pair.a.store.sync()
    #expect(report.stop?.name == name)
    #expect(report.pushed == 1)
    #expect(report.rejected.isEmpty)
    if name == "throttled" { #expect(report.retryAfter == 7) }
    #expect(try pair.a.store.rejectedEntries().isEmpty)
    pair.a.remote.setBlobScript { _ in .none }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(pair.a.uploads == [0, 10, 20, 20, 30, 40])
  }

  @Test("A blob that always fails moves to the end of the queue")
  func fairness() async throws {
    let pair = try SnapPair()
    let bad = try await pair.a.snap("1", picture(45, 1))
    for id in 2...4 { try await pair.a.snap("\(id)", picture(15, UInt8(id))) }
    pair.a.remote.setBlobScript {
      if case .upload(bad.sha256, _) = $0 { .status(500, retryAfter: nil) } else { .none }
    }
    var pushed = 0
    for _ in 0..<2 { pushed += await pair.a.store.sync().pushed }
    #expect(pushed == 3)
    #expect(try pair.a.store.outboxEntries().map(\.id) == [one])
  }

  @Test("Bytes damaged here are never uploaded, and their record waits for new bytes")
  func damagedHere() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    try pair.a.damage(blob)
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["blobDamaged"])
    #expect(try await pair.world.service.blobHolding(space: "test", blob.sha256) == .part(0))
    await #expect(throws: BothyError.self) { try await pair.a.store.blobs.data(for: blob) }
    _ = try await pair.a.store.blobs.add(picture())
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.a.store.blobs.data(for: blob) == picture())
  }

  @Test("Parts of another attempt on the server are discarded once")
  func damagedThere() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    let wrong = BlobPart(sha256: blob.sha256, size: 45, offset: 0, bytes: [9, 9, 9])
    #expect(try await pair.world.service.uploadBlob(space: "test", wrong) == .part(3))
    let report = await pair.a.store.sync()
    #expect(report.rejected.isEmpty)
    #expect(report.pushed == 1)
    #expect(
      try await pair.world.service.downloadBlob(space: "test", blob.sha256, 0..<45) == [UInt8](picture()))
  }

  @Test("A blob whose bytes exist nowhere is reported as missing")
  func missing() async throws {
    let pair = try SnapPair()
    let made = Blob(sha256: String(repeating: "a", count: 64), size: 3)
    try await pair.a.store.save(Snap("1", "t", made))
    #expect(await pair.a.store.sync().rejected.map(\.code) == ["blobMissing"])
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.blobs.data(for: made) }
    #expect(error?.code == .blobMissing)
    #expect(error?.message.hasSuffix("or try again when a device that has them has synced.") == true)
    #expect(try pair.a.store.blobs.state(of: made) == .missing)
  }
}
