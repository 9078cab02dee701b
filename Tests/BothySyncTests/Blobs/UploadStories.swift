import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// Blobs on their way to the server: before their record, in parts, through interruptions and kills.
@Suite("Uploads of blobs", .faultsStrike, .timeLimit(.minutes(5)))
struct UploadStories {
  /// Promises: S-78, S-76
  @Test("A picture stored offline is local, and readable by others after the sync")
  func roundTrip() async throws {
    let pair = try SnapPair()
    pair.a.remote.isOffline = true
    let blob = try await pair.a.snap("1", picture())
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    #expect(try pair.a.store.blobs.state(of: blob) == .local)
    #expect(try pair.a.store.blobs.backlog() == BlobStorage.Backlog(count: 1, bytes: 45))
    #expect(try await pair.a.store.blobs.data(for: blob) == picture())
    pair.a.remote.isOffline = false
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(report.uploadedBlobs == 1)
    #expect(report.pushed == 1)
    guard case .remote(let url) = try pair.a.store.blobs.state(of: blob) else {
      Issue.record("not remote")
      return
    }
    #expect(StackMobBinary.containsURL(url.absoluteString))
    #expect(url.absoluteString.hasSuffix(blob.sha256))
    #expect(try pair.a.store.blobs.backlog() == BlobStorage.Backlog())
    await pair.b.store.sync()
    let other = try #require(try pair.b.snap("1")?.image)
    #expect(other == blob)
    #expect(!pair.b.store.blobs.isHere(other))
    #expect(try pair.b.store.blobs.state(of: other) == .remote(url))
    #expect(try await pair.b.store.blobs.data(for: other) == picture())
    #expect(pair.b.store.blobs.isHere(other))
  }

  @Test("Excess bytes under a blob's name keep the blob from no device")
  func poisoned() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    let poison = BlobPart(sha256: blob.sha256, size: 1000, offset: 0, bytes: Array(repeating: 90, count: 300))
    _ = try await pair.world.service.uploadBlob(space: "test", poison)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(report.rejected.isEmpty)
    #expect(try await pair.world.service.blobHolding(space: "test", blob.sha256) == .whole(size: 45))
    await pair.b.store.sync()
    #expect(try await pair.b.store.blobs.data(for: blob) == picture())
  }

  /// Promises: S-78
  @Test("The blob is whole on the server before its record is sent")
  func blobFirst() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    let service = pair.world.service
    let order = Mutex<[String]>([])
    pair.a.remote.setBeforeSending { request in
      guard !request.operations.isEmpty else { return }
      let holding = try? await service.blobHolding(space: "test", blob.sha256)
      order.withLock { $0.append(holding == .whole(size: 45) ? "whole" : "not whole") }
    }
    await pair.a.store.sync()
    #expect(order.withLock { $0 } == ["whole"])
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
  }

  /// Promises: S-78, H-33
  @Test(
    "An interrupted upload resumes after a restart and sends no part twice",
    arguments: 0...6, [FaultyRemote.Fault.lostRequest, .lostAnswer])
  func cut(after count: Int, by fault: FaultyRemote.Fault) async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    let blob = try await pair.a.snap("1", picture())
    let calls = Calls()
    pair.a.remote.setBlobScript { _ in calls.add() > count ? fault : .none }
    let cut = await pair.a.store.sync()
    #expect((cut.stop?.name == "unreachable") == (count < 6))
    try pair.a.restart()
    #expect(try pair.a.snap("1")?.image == blob)
    let lastCut = pair.a.uploads.last
    pair.a.remote.setBlobScript { _ in .none }
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(try await pair.server("1")?["image"]?["sha256"]?.stringValue == blob.sha256)
    // A part is sent again only if its request was lost, not if its response was.
    var expected = [Int64]([0, 10, 20, 30, 40])
    if fault == .lostRequest, let lastCut, count < 6 { expected.append(lastCut) }
    #expect(pair.a.uploads.sorted() == expected.sorted())
    #expect(pair.a.sentSnaps == ["1"])
    await pair.b.store.sync()
    #expect(try await pair.b.store.blobs.data(for: blob) == picture())
  }

  /// Promises: S-78, H-33
  @Test("A kill between upload and push uploads nothing again")
  func killBeforeRecord() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture())
    pair.a.loseConnection(after: 1)
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    #expect(pair.a.uploads.count == 5)
    try pair.a.restart()
    pair.a.remote.setScript { .none }
    pair.a.remote.forgetRequests()
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(pair.a.remote.blobRequests.isEmpty)
  }

  @Test("Duplicate requests and late parts do no harm")
  func duplicated() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    pair.a.remote.setBlobScript { _ in .duplicated }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.world.service.blobHolding(space: "test", blob.sha256) == .whole(size: 45))
    #expect(
      try await pair.world.service.downloadBlob(space: "test", blob.sha256, 0..<100) == [UInt8](picture()))
  }

  @Test("A blob that another device has uploaded isn't uploaded again")
  func deduplicated() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture())
    try await pair.a.snap("2", picture())
    await pair.a.store.sync()
    #expect(pair.a.uploads.count == 5)
    #expect(pair.a.blobFiles.count == 1)
    let blob = try await pair.b.snap("3", picture())
    let report = await pair.b.store.sync()
    #expect(report.pushed == 1)
    #expect(pair.b.remote.blobRequests == [.holding(blob.sha256)])
  }

  @Test("An upload stops before its next part on a costly network, and resumes later")
  func costlyNetwork() async throws {
    let pair = try SnapPair()
    let (store, feed, calls) = (pair.a.store, NetworkFeed(.reachable), Calls())
    store.options.network = .wifiOnly
    let run = Task { await store.run(reachability: feed, clock: VirtualClock()) }
    try await until { store.status.network == .reachable && store.status.phase != .stopped }
    await store.sync()
    try await pair.a.snap("1", picture())
    pair.a.remote.setAfterBlobs { request in
      guard case .upload(_, 10) = request, calls.add() == 1 else { return }
      feed.send(NetworkState(isReachable: true, isExpensive: true))
      try? await until { store.status.network.isExpensive }
    }
    #expect(await store.sync().obstacle == .network)
    #expect(pair.a.uploads == [0, 10])
    feed.send(.reachable)
    try await until { store.status.network == .reachable }
    #expect(await store.sync().pushed == 1)
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
    run.cancel()
    await run.value
  }

  @Test("Pausing stops an upload before its next part, and a forced sync resumes it")
  func pausedUpload() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture())
    let (store, calls) = (pair.a.store, Calls())
    pair.a.remote.setAfterBlobs { request in
      if case .upload(_, 10) = request, calls.add() == 1 { try? store.pause() }
    }
    #expect(await store.sync().obstacle == .paused)
    #expect(pair.a.uploads == [0, 10])
    #expect(try store.isPending(RecordID(type: "Snap", id: "1")))
    #expect(await store.sync(forced: true).pushed == 1)
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
  }

  @Test("Two devices that upload one blob finish each other's work")
  func atomic() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    try await pair.b.snap("2", picture())
    let (other, calls) = (pair.b.store, Calls())
    pair.a.remote.setAfterBlobs { request in
      if case .upload(_, 10) = request, calls.add() == 1 { await other.sync() }
    }
    await pair.a.store.sync()
    #expect(pair.a.uploads == [0, 10, 20])
    #expect(pair.b.uploads == [20, 30, 40])
    #expect(try await pair.world.serverRecords().count == 2)
    #expect(try pair.a.store.blobs.state(of: blob) == pair.b.store.blobs.state(of: blob))
  }

  @Test("A save during a long upload is sent before the upload ends")
  func otherWorkFirst() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture(800))
    let (store, calls) = (pair.a.store, Calls())
    pair.a.remote.setAfterBlobs { request in
      if case .upload = request, calls.add() == 2 { _ = try? await store.save(Note(id: "N", "urgent")) }
    }
    await pair.a.store.sync()
    #expect(pair.a.sentSnaps == ["N", "1"])
    #expect(pair.a.uploads.count == 80)
  }

  @Test("The status reports the uploaded and remaining bytes during an upload")
  func progress() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", picture())
    let store = pair.a.store
    let seen = Mutex<[Int64]>([])
    pair.a.remote.setAfterBlobs { _ in
      guard case .syncing(let progress) = store.status.phase, progress.uploadedBytes > 0 else { return }
      seen.withLock { $0 += [progress.uploadedBytes, progress.bytesToUpload] }
    }
    let calls = Calls()
    pair.a.remote.setBlobScript { _ in calls.add() > 4 ? .lostRequest : .none }
    await pair.a.store.sync()
    #expect(seen.withLock { $0 } == [10, 35, 20, 25])
    #expect(try pair.a.store.blobs.state(of: blob) == .uploading(sent: 30, of: 45))
    #expect(try pair.a.store.blobs.backlog() == BlobStorage.Backlog(count: 1, bytes: 45, sent: 30))
  }

  @Test("The status counts the bytes that all waiting blobs have left")
  func progressOfAll() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    for id in 1...2 { try await pair.a.snap("\(id)", picture(15, UInt8(id))) }
    let store = pair.a.store
    let seen = Mutex<[Int64]>([])
    pair.a.remote.setAfterBlobs { _ in
      guard case .syncing(let progress) = store.status.phase, progress.uploadedBytes > 0 else { return }
      seen.withLock { $0 += [progress.uploadedBytes, progress.bytesToUpload] }
    }
    #expect(await store.sync().uploadedBlobs == 2)
    let all = seen.withLock { $0 }
    #expect(all.prefix(2) == [10, 20] && all.suffix(2) == [20, 5])
  }

  @Test("A transaction is sent whole, once the blobs of all its records have arrived")
  func together() async throws {
    let pair = try SnapPair()
    let first = try await pair.a.store.blobs.add(picture(45, 1))
    let second = try await pair.a.store.blobs.add(picture(15, 2))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(Snap("1", "t", first))
      try transaction.insert(Snap("2", "t", second))
      try transaction.insert(Note(id: "N", "with them"))
    }
    #expect(await pair.a.store.sync().pushed == 3)
    let sent = pair.a.remote.requests.map(\.operations).filter { !$0.isEmpty }
    #expect(sent.map { Set($0.map(\.record.id)) } == [["1", "2", "N"]])
  }

  @Test("Records behind one that waits are reported, and sent with it")
  func behind() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture(15, 1))
    try await pair.a.snap("2", picture(15, 2))
    try await pair.a.store.save(Snap("child", in: "2"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(Snap("grandchild", in: "child"))
      try transaction.insert(Note(id: "N", "with it"))
    }
    // The blob of a record that others need is uploaded first.
    let calls = Calls()
    pair.a.remote.setBlobScript { _ in calls.add() > 2 ? .lostRequest : .none }
    let cut = await pair.a.store.sync()
    #expect(cut.stop?.name == "unreachable" && cut.pushed == 0)
    #expect(Set(cut.blocked.map(\.record.id)) == ["child", "grandchild", "N"])
    pair.a.remote.setBlobScript { _ in .none }
    let further = await pair.a.store.sync()
    #expect(further.pushed == 5 && further.blocked.isEmpty)
    #expect(pair.a.sentSnaps.sorted() == ["1", "2", "N", "child", "grandchild"])
  }

  @Test("A record behind one that gives up its blob waits for no other upload")
  func givenUp() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture(45, 1))
    try await pair.a.snap("2", picture(15, 2))
    try await pair.a.store.save(Snap("child", in: "2"))
    let (store, calls) = (pair.a.store, Calls())
    pair.a.remote.setAfterBlobs { _ in
      guard calls.add() == 1 else { return }
      do {
        try await store.write { transaction in
          _ = try transaction.update(Snap.self, id: "2") { $0.image = nil }
        }
      } catch { Issue.record(error) }
    }
    #expect(await pair.a.store.sync().pushed == 3)
    #expect(pair.a.sentSnaps == ["2", "child", "1"])
  }

  @Test("A run sends the records that wait since a sync was interrupted")
  func interrupted() async throws {
    let pair = try SnapPair { $0.triggers = [.start] }
    await pair.a.store.sync()
    for id in 1...2 { try await pair.a.snap("\(id)", picture(15, UInt8(id))) }
    pair.a.remote.setBlobScript { _ in .lostRequest }
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    pair.a.remote.setBlobScript { _ in .none }
    try pair.a.restart()
    let store = pair.a.store
    #expect(try store.outboxEntries().map(\.retryAt) == [0, 0])
    let run = Task { await store.run(clock: VirtualClock()) }
    try await until { try store.outboxEntries().isEmpty }
    run.cancel()
    await run.value
    #expect(try await pair.world.serverRecords().count == 2)
  }

  @Test("A sync makes no request about a blob that another sync has uploaded meanwhile")
  func uploadedMeanwhile() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture(15, 1))
    let second = try await pair.a.snap("2", picture(15, 2))
    let (other, calls) = (try pair.a.openBeside(), Calls())
    pair.a.remote.setAfterBlobs { request in
      if case .upload(_, 0) = request, calls.add() == 1 { await other.sync() }
    }
    #expect(await pair.a.store.sync().obstacle == nil)
    let about = pair.a.remote.blobRequests.filter { request in
      switch request {
      case .holding(let name), .upload(let name, _), .download(let name, _): name == second.sha256
      }
    }
    let name = second.sha256
    #expect(about == [.holding(name), .upload(name, offset: 0), .upload(name, offset: 10)])
    #expect(pair.a.sentSnaps.sorted() == ["1", "2"])
    try other.store.close()
  }

  @Test("An empty blob is uploaded too")
  func empty() async throws {
    let pair = try SnapPair()
    let blob = try await pair.a.snap("1", Data())
    #expect(blob.size == 0)
    #expect(await pair.a.store.sync().pushed == 1)
    await pair.b.store.sync()
    #expect(try await pair.b.store.blobs.data(for: blob) == Data())
    #expect(pair.b.store.blobs.isHere(blob))
  }

  /// Promises: S-35
  @Test("An online save uploads its blob first, and offline it waits like others")
  func onlineSave() async throws {
    let pair = try SnapPair()
    let online = RequestOptions(writePolicy: .remoteThenLocal)
    let blob = try await pair.a.store.blobs.add(picture())
    let receipt = try await pair.a.store.save(Snap("1", "t", blob), options: online)
    guard case .accepted = receipt.known else {
      Issue.record("\(receipt.state)")
      return
    }
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
    pair.a.remote.isOffline = true
    let second = try await pair.a.store.blobs.add(picture(15, 2))
    try await pair.a.store.save(Snap("2", "t", second), options: online)
    #expect(try pair.a.store.isPending(RecordID(type: "Snap", id: "2")))
    pair.a.remote.isOffline = false
    pair.a.remote.forgetRequests()
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(pair.a.uploads == [0, 10])
    #expect(try await pair.world.service.blobHolding(space: "test", second.sha256) == .whole(size: 15))
  }
}
