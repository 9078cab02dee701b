import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Rejected changes, and the app's decisions about them, at once or after a relaunch.
@Suite("Rejections", .timeLimit(.minutes(5)))
struct RejectionStories {
  /// Promises: S-66, S-67, H-35
  @Test(
    "Each failure has its operation, fields, attempts, next attempt and record"
  )
  func failure() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) {
      $0.backoff = Backoff(first: .seconds(10), limit: .seconds(300), random: { 1 })
    }
    try pair.a.insert("T2", "two", note: "refused")
    try pair.a.edit { $0.note = "refused" }
    for attempt in 1...2 {
      let failures = await pair.a.store.sync().rejected
      #expect(Set(failures.map(\.operation)) == [.insert, .update])
      for failure in failures {
        #expect(failure.code == "invalid" && failure.rejection.fields.map(\.field) == ["note"])
        #expect(failure.attempts == attempt)
        #expect(failure.nextRetry == pair.world.time.now + Int64(attempt) * 10_000)
        #expect(try failure.local?.members()["note"] == "refused")
      }
    }
  }

  /// Promises: S-69, S-70, H-51, C-25
  @Test(
    "Failures stored over a relaunch can be accepted, but newer edits stay",
    arguments: [Outbox.Decision.keepLocal, .removeLocal])
  func decodedFailures(_ resolution: Outbox.Decision) async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"], rules: .withoutNotes)
    for id in ["T1", "T2", "T3"] { try pair.a.edit(id) { $0.note = "refused" } }
    let kept = try JSONEncoder().encode(await pair.a.store.sync().rejected)
    try pair.a.restart()
    try pair.a.edit("T2") { $0.title = "newer" }
    let failures = try JSONDecoder().decode([SyncReport.RejectedChange].self, from: kept)
    #expect(try pair.a.store.resolve(failures, resolution) == [.note("T1"), .note("T3")])
    #expect(try pair.a.note("T1")?.note == (resolution == .removeLocal ? nil : "refused"))
    #expect(try pair.a.store.outboxEntries().map(\.id) == [.note("T2")])
    // A second call changes nothing, because no change is pending.
    #expect(try pair.a.store.resolve(failures, resolution).isEmpty)
    try pair.a.edit("T2") { $0.note = nil }
    #expect(try await pair.isEven())
    #expect(try pair.a.title("T2") == "newer")
    #expect(try pair.a.note("T1")?.note == nil)
  }

  /// Promises: X-18
  @Test("A forbidden change fails as its operation, and an evicted record is fetched again")
  func forbidden() async throws {
    var type = Note.schema
    type.permissions = Permissions(update: .nobody)
    let pair = try await Pair.sharing(rules: AccessRules(schema: StoreSchema(types: [type])))
    try pair.a.retitle("mine")
    let report = await pair.a.store.sync(.push)
    #expect(report.rejected.map(\.operation) == [.update])
    #expect(report.rejected.map(\.code) == ["forbidden"])
    #expect(try await pair.serverTitle() == "start")
    try pair.a.store.resolve(report.rejected, .removeLocal)
    #expect(try pair.a.note() == nil)
    let fetched = try await pair.a.store.fetchResult(
      RecordQuery<Note>(), options: RequestOptions(readPolicy: .remote))
    #expect(fetched.records.map(\.title) == ["start"])
    #expect(try pair.a.title() == "start")
  }

  /// Promises: N-37, N-47, C-1, H-39
  @Test(
    "Under discard all rejected changes are undone at once, reported and fetched again"
  )
  func discarded() async throws {
    var type = Note.schema
    type.fields.removeAll { $0.name == "note" }
    type.permissions = Permissions(delete: .nobody)
    let pair = try await Pair.sharing(
      ["T1", "T2"], rules: AccessRules(schema: StoreSchema(types: [type]))
    ) {
      $0.rejectionPolicy = .discardAndRefetch
    }
    try pair.a.insert("T3", "new", note: "refused")
    try pair.a.edit("T1") {
      $0.title = "edited"
      $0.note = "refused"
    }
    try pair.a.remove("T2")
    let report = await pair.a.store.sync(.push)
    #expect(report.rejected.map(\.operation) == [.insert, .update, .delete])
    #expect(report.rejected.allSatisfy { $0.nextRetry == nil })
    #expect(
      try report.overwritten.map { try $0.fields?.members()["title"]?.stringValue } == ["new", "edited", nil])
    #expect(try pair.a.noteIDs() == ["T1", "T2"])
    #expect(try pair.a.title("T1") == "start")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try pair.a.store.containers().allSatisfy { $0.cursor != nil })
    pair.a.remote.forgetRequests()
    #expect(await pair.a.store.sync(.pull).pulled == 0)
    #expect(pair.a.remote.reads == 1)
    #expect(try await pair.isEven())
  }

  /// Promises: N-37, N-47
  @Test("An undone change of one container leaves the other containers as they are")
  func otherContainers() async throws {
    let (oslo, rome) = (SyncScope(container: "trips/oslo"), SyncScope(container: "trips/rome"))
    let pair = try Pair(rules: .withoutNotes)
    try pair.b.change { transaction in
      for (id, place) in [("O1", oslo), ("O2", oslo), ("R1", rome), ("R2", rome)] {
        try transaction.insert(Note(id: id, "start"), in: place.container)
      }
    }
    await pair.b.store.sync()
    var options = SyncOptions.following([oslo, rome])
    options.rejectionPolicy = .discardAndRefetch
    try pair.a.restart(configuration: options)
    await pair.a.store.sync()
    func validators() throws -> [String?] {
      try [oslo, rome].map { try pair.a.store.validator(for: $0.container) }
    }
    let before = try validators()
    try pair.b.retitle("R2", "news")
    await pair.b.store.sync()
    try pair.a.edit("O1") { $0.note = "refused" }
    for id in ["O2", "R1"] { try pair.a.retitle(id, "mine") }
    let report = await pair.a.store.sync(.push)
    #expect(report.rejected.map(\.record) == [.note("O1")])
    #expect(try report.overwritten.map { try $0.fields?.members()["note"] } == ["refused"])
    #expect(try ["O1", "O2", "R1", "R2"].map { try pair.a.title($0) } == ["start", "mine", "mine", "start"])
    #expect(try pair.a.note("O1")?.note == nil && pair.a.store.outboxEntries().isEmpty)
    #expect(try validators() == before && !before.contains(nil))
    pair.a.remote.forgetRequests()
    await pair.a.store.sync(.pull)
    #expect(pair.a.remote.requests.flatMap(\.pulls).allSatisfy { $0.cursor != nil })
    #expect(try pair.a.title("R2") == "news")
    #expect(try await pair.serverTitle("R1") == "mine")
  }

  /// Promises: S-69, S-70
  @Test("A callback for failures may accept all of them before the completion")
  func insideCallback() async throws {
    let ids = ["T1", "T2", "T3"]
    let pair = try await Pair.sharing(ids, rules: .withoutNotes)
    for id in ids { try pair.a.edit(id) { $0.note = "refused" } }
    let (store, journal) = (pair.a.store, Journal())
    let callbacks = SyncCallbacks(
      failedUpdates: { failures in
        do {
          let ended = try store.resolve(failures, .removeLocal)
          journal.note("accepted \(ended.map(\.id).sorted())")
        } catch { Issue.record(error) }
      },
      completion: { _ in journal.note("completed") })
    await store.sync(telling: callbacks)
    #expect(journal.lines == ["accepted \(ids)", "completed"])
    #expect(try store.outboxEntries().isEmpty)
    #expect(await store.sync().rejected.isEmpty)
    #expect(try await pair.isEven())
    #expect(try ids.map { try pair.a.note($0)?.note } == [nil, nil, nil])
  }
}
