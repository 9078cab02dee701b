import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The bytes on the device: stored, read, verified, evicted over the budget and downloaded again.
@Suite("Blobs on the device", .faultsStrike, .timeLimit(.minutes(5)))
struct BlobKeepingTests {
  @Test("Data and files are named by their SHA-256 and read back unchanged")
  func putAndRead() async throws {
    let pair = try SnapPair()
    let blobs = pair.a.store.blobs
    // The example of FIPS 180-4.
    let abc = try await blobs.add(Data("abc".utf8), contentType: "text/plain")
    #expect(abc.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(abc.size == 3)
    #expect(abc.contentType == "text/plain")
    let folder = try TemporaryFolder()
    let path = folder.path + "/big"
    let big = picture(1_000_000)
    try big.write(to: URL(fileURLWithPath: path))
    let blob = try await blobs.add(contentsOf: URL(fileURLWithPath: path))
    #expect(blob.size == 1_000_000)
    #expect(try await blobs.add(big) == blob)
    #expect(pair.a.blobFiles.count == 2)
    var pieces: [Data] = []
    for try await piece in blobs.pieces(of: blob) { pieces.append(piece) }
    #expect(pieces.map(\.count).max() == 262_144)
    #expect(Data(pieces.joined()) == big)
    #expect(try await blobs.data(for: blob) == big)
    #expect(try Data(contentsOf: await blobs.file(for: blob)) == big)
    let error = await #expect(throws: BothyError.self) {
      try await blobs.add(contentsOf: URL(fileURLWithPath: folder.path + "/none"))
    }
    #expect(error?.code == .notFound)
  }

  @Test("A file that was being written when the process ended doesn't count")
  func halfWritten() async throws {
    let pair = try SnapPair()
    let blob = Blob(sha256: try await pair.b.store.blobs.add(picture()).sha256, size: 45)
    let root = pair.a.path + "-blobs"
    for folder in ["incoming", "partial"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
      try picture(20).write(to: URL(fileURLWithPath: "\(root)/\(folder)/\(blob.sha256)"))
    }
    #expect(!pair.a.store.blobs.isHere(blob))
    pair.world.time.advance(by: 100 * 365 * 86_400_000)
    _ = try await pair.a.store.blobs.add(Data([1]))
    try await pair.a.store.blobs.evict()
    #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/incoming").isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/partial").isEmpty)
  }

  @Test("Over the budget, the least recently used bytes are evicted, and restored on request")
  func evicted() async throws {
    let pair = try SnapPair { $0.blobs.budget = 30 }
    var blobs: [Blob] = []
    for number in 1...3 {
      pair.world.time.advance(by: 1000)
      blobs.append(try await pair.a.snap("\(number)", picture(15, UInt8(number))))
    }
    // Pending blobs stay, whatever the budget.
    try await pair.a.store.blobs.evict(toFit: 0)
    #expect(pair.a.blobFiles.count == 3)
    pair.world.time.advance(by: 1000)
    _ = try await pair.a.store.blobs.data(for: blobs[0])
    await pair.a.store.sync()
    #expect(blobs.map { pair.a.store.blobs.isHere($0) } == [true, false, true])
    pair.world.time.advance(by: 1000)
    #expect(try await pair.a.store.blobs.data(for: blobs[1]) == picture(15, 2))
    #expect(blobs.map { pair.a.store.blobs.isHere($0) } == [true, true, false])
    try pair.a.store.blobs.pin(blobs[0])
    #expect(try await pair.a.store.blobs.eviction(toFit: 0) == BlobStorage.Eviction(removed: 1, bytes: 15))
    #expect(blobs.map { pair.a.store.blobs.isHere($0) } == [true, false, false])
    try pair.a.store.blobs.unpin(blobs[0])
    try await pair.a.store.blobs.evict(toFit: 0)
    #expect(pair.a.blobFiles.isEmpty)
    guard case .remote = try pair.a.store.blobs.state(of: blobs[0]) else {
      Issue.record("the address is gone")
      return
    }
  }

  @Test("Bytes that were uploaded but not acknowledged stay too")
  func unacknowledgedStays() async throws {
    let pair = try SnapPair { $0.blobs.budget = 0 }
    await pair.a.store.sync()
    let blob = try await pair.a.snap("1", picture())
    pair.a.loseConnection(after: 1)
    await pair.a.store.sync()
    #expect(pair.a.uploads.count == 5)
    #expect(try pair.a.store.blobs.state(of: blob) == .local)
    try await pair.a.store.blobs.evict()
    #expect(pair.a.store.blobs.isHere(blob))
    pair.a.remote.setScript { .none }
    await pair.a.store.sync()
    try await pair.a.store.blobs.evict()
    #expect(!pair.a.store.blobs.isHere(blob))
  }

  @Test("Bytes that no record named are deleted after a week, and others never")
  func forgotten() async throws {
    let pair = try SnapPair()
    let loose = try await pair.a.store.blobs.add(picture(5, 9))
    let named = try await pair.a.snap("1", picture())
    try await pair.a.store.blobs.evict()
    #expect(pair.a.store.blobs.isHere(loose))
    pair.world.time.advance(by: 8 * 86_400_000)
    try await pair.a.store.blobs.evict()
    #expect(!pair.a.store.blobs.isHere(loose))
    #expect(pair.a.store.blobs.isHere(named))
  }

  @Test("Bytes that are added again during an eviction stay")
  func addedMeanwhile() async throws {
    let pair = try SnapPair()
    let store = pair.a.store
    let loose = try await store.blobs.add(picture(5, 9))
    let named = try await pair.a.snap("1", picture())
    await store.sync()
    pair.world.time.advance(by: 8 * 86_400_000)
    pair.a.remote.setAfterBlobs { request in
      guard case .holding = request else { return }
      do { _ = try await store.blobs.add(picture(5, 9)) } catch { Issue.record(error) }
    }
    try await store.blobs.evict(toFit: 0)
    #expect(store.blobs.isHere(loose))
    #expect(!store.blobs.isHere(named))
  }

  @Test("An eviction uploads what the server lost, but nothing while syncing is paused")
  func evictionWhilePaused() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try await #require(pair.world.service.blobs).remove(space: "test")
    pair.a.remote.forgetRequests()
    try pair.a.store.pause()
    try await pair.a.store.blobs.evict(toFit: 0)
    #expect(pair.a.uploads.isEmpty)
    try pair.a.store.resume()
    try await pair.a.store.blobs.evict(toFit: 0)
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
    #expect(pair.a.store.blobs.isHere(blob))
  }

  @Test("Another server gets no blob of the file")
  func otherServer() async throws {
    let (pair, other) = (try SnapPair(), try SnapPair())
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try pair.a.store.close()
    let store = try SyncedStore(
      at: pair.a.path, schema: .snaps, remote: InProcessRemote(other.world.service), configuration: .quiet,
      options: StoreOptions(processes: .single), clock: SyncClock(now: pair.world.time.reader()))
    try await store.blobs.evict(toFit: 0)
    #expect(store.blobs.isHere(blob))
    #expect(try await other.world.service.blobHolding(space: "test", blob.sha256) == .part(0))
    try store.close()
  }

  @Test("An interrupted download resumes after a restart", arguments: 1...4)
  func resumedDownload(after count: Int) async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    await pair.b.store.sync()
    let calls = Calls()
    pair.b.remote.setBlobScript { _ in calls.add() > count ? .lostRequest : .none }
    let error = await #expect(throws: BothyError.self) { try await pair.b.store.blobs.data(for: blob) }
    #expect(error?.code == .unreachable)
    #expect(!pair.b.store.blobs.isHere(blob))
    try pair.b.restart()
    pair.b.remote.setBlobScript { _ in .none }
    pair.b.remote.forgetRequests()
    #expect(try await pair.b.store.blobs.data(for: blob) == picture())
    #expect(pair.b.downloads.first == Int64(count * 10))
    #expect(pair.b.downloads.count == 5 - count)
  }

  @Test("Concurrent reads share one download, and a cancelled one harms no other")
  func sharedDownload() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let (latch, store) = (Latch(), pair.b.store)
    pair.b.remote.setAfterBlobs { _ in await latch.pass() }
    let first = Task { try await store.blobs.data(for: blob) }
    await latch.reached()
    let others = (0..<5).map { _ in Task { try await store.blobs.data(for: blob) } }
    let leaver = Task { try await store.blobs.data(for: blob) }
    leaver.cancel()
    await #expect(throws: CancellationError.self) { try await leaver.value }
    latch.open()
    #expect(try await first.value == picture())
    for other in others { #expect(try await other.value == picture()) }
    #expect(pair.b.downloads == [0, 10, 20, 30, 40])
  }

  @Test("A download or addition that a sign-out overtakes leaves no bytes")
  func signOutMeanwhile() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let (latch, store) = (Latch(), pair.b.store)
    pair.b.remote.setAfterBlobs { _ in await latch.pass() }
    let download = Task { try await store.blobs.data(for: blob) }
    await latch.reached()
    try await store.signOut(.discard)
    latch.open()
    let error = await #expect(throws: BothyError.self) { try await download.value }
    #expect(error?.code == .cannotOpen)
    #expect(!FileManager.default.fileExists(atPath: pair.b.path + "-blobs"))
    await #expect(throws: BothyError.self) { try await store.blobs.add(picture()) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: pair.b.path + "-blobs/incoming").isEmpty)
    #expect(pair.b.blobFiles.isEmpty)
  }

  @Test("A damaged file is replaced by the server's copy")
  func repaired() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    try pair.a.damage(blob)
    #expect(try await pair.a.store.blobs.data(for: blob) == picture())
    try pair.a.damage(blob)
    #expect(try Data(contentsOf: await pair.a.store.blobs.file(for: blob)) == picture())
    #expect(pair.a.downloads.count == 10)
  }

  @Test("Offline, missing bytes are unreachable, and present ones are read")
  func offline() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    await pair.b.store.sync()
    pair.a.remote.isOffline = true
    pair.b.remote.isOffline = true
    #expect(try await pair.a.store.blobs.data(for: blob) == picture())
    let error = await #expect(throws: BothyError.self) { try await pair.b.store.blobs.data(for: blob) }
    #expect(error?.code == .unreachable)
  }

  @Test("The doctor finds damaged files, and missing ones that wait")
  func doctor() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    #expect(try pair.a.store.diagnose().findings.isEmpty)
    try pair.a.damage(blob)
    #expect(try pair.a.store.diagnose().findings.map(\.check) == ["blobs"])
    #expect(try pair.a.store.diagnose().findings.first?.message.contains("damaged") == true)
    try FileManager.default.removeItem(atPath: pair.a.path + "-blobs")
    #expect(try pair.a.store.diagnose().findings.first?.message.contains("not here") == true)
  }
}
