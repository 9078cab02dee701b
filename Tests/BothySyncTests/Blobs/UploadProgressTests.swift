import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The bytes that observers see left to upload, while a sync does other things and before one.
@Suite("Progress of uploads", .timeLimit(.minutes(5)))
struct UploadProgressTests {
  @Test("The remaining bytes only fall while records are sent between blobs")
  func betweenBlobs() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    for id in 1...4 { try await pair.a.snap("\(id)", picture(15, UInt8(id))) }
    let (store, seen) = (pair.a.store, Received<Int64>())
    pair.a.remote.setAfterBlobs { _ in seen.append(store.status.bytesToUpload) }
    let report = await store.sync()
    #expect(report.uploadedBlobs == 4 && report.requests > 13)
    #expect(seen.values.first == 60 && seen.values.last == 5)
    #expect(seen.values == seen.values.sorted(by: >))
    #expect(store.status.bytesToUpload == 0)
  }

  enum Work: CaseIterable { case awaitedSave, otherSync }

  @Test("What runs beside an upload doesn't hide its remaining bytes", arguments: Work.allCases)
  func beside(_ work: Work) async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    try await pair.a.snap("1", picture(45))
    let (store, calls, seen) = (pair.a.store, Calls(), Received<Int64>())
    pair.a.remote.setAfterBlobs { request in
      guard case .upload(_, 10) = request, calls.add() == 1 else { return }
      // In a task of its own, because a sync waits for this one.
      await Task.detached {
        switch work {
        case .awaitedSave:
          do {
            _ = try await store.save(Note(id: "N", "n"), options: RequestOptions(writePolicy: .remote))
          } catch { Issue.record(error) }
        case .otherSync: #expect(await store.sync(.pull, container: "Note").obstacle == nil)
        }
      }.value
      seen.append(store.status.bytesToUpload)
    }
    #expect(await store.sync(container: "Snap").uploadedBlobs == 1)
    #expect(seen.values == [35])
  }

  @Test("A blob that a pulled record keeps doesn't count as one to upload")
  func unchangedBlob() async throws {
    let pair = try SnapPair()
    try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let store = pair.b.store
    await store.sync()
    try pair.b.editSnap("1") { $0.title = "mine" }
    #expect(try store.blobs.backlog() == BlobStorage.Backlog())
    #expect(try store.waitingReasons(for: store.outboxEntries()) == [.nextSync])
    let blob = try await store.blobs.add(picture(20, 2))
    try pair.b.editSnap("1") { $0.image = blob }
    #expect(try store.blobs.backlog() == BlobStorage.Backlog(count: 1, bytes: 20))
    #expect(try store.waitingReasons(for: store.outboxEntries()) == [.blobs(1)])
    #expect(await store.sync().uploadedBlobs == 1)
    #expect(try store.blobs.backlog() == BlobStorage.Backlog())
  }
}
