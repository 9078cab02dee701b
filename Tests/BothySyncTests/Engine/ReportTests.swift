import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Reports of syncs", .timeLimit(.minutes(5)))
struct ReportTests {
  private func sync(_ pair: Pair, _ ids: [String]) async throws {
    for id in ids {
      try pair.a.insert(id, "x")
      await pair.a.store.sync()
    }
  }

  /// Promises: N-59
  @Test("A slow reader receives every report in order")
  func slowReader() async throws {
    let pair = try Pair()
    let reports = pair.a.store.maintenance.reports
    try await sync(pair, ["T1", "T2", "T3", "T4", "T5"])
    var reported: [String] = []
    for await report in reports {
      reported += report.synced.map(\.record.id)
      if reported.last == "T5" { break }
    }
    #expect(reported == ["T1", "T2", "T3", "T4", "T5"])
  }

  /// Promises: S-48
  @Test("Callbacks receive every sync since the store was opened, however slow they are")
  func callbacks() async throws {
    let pair = try Pair()
    let store = pair.a.store
    try await sync(pair, ["T1"])
    let latch = Latch()
    let journal = Journal()
    let task = Task {
      await store.tellReports(
        to: SyncCallbacks(completion: { objects in
          await latch.pass()
          for object in objects { journal.note(object.objectID.id) }
        }))
    }
    await latch.reached()
    try await sync(pair, ["T2", "T3", "T4"])
    latch.open()
    try await until { journal.lines.last == "T4" }
    #expect(journal.lines == ["T1", "T2", "T3", "T4"])
    task.cancel()
    await task.value
  }

  /// Promises: S-48, S-63, S-66
  @Test("Installed callbacks receive failures by operation, then the completion once")
  func order() async throws {
    var type = Note.schema
    type.fields.removeAll { $0.name == "note" }
    type.permissions = Permissions(delete: .nobody)
    let pair = try await Pair.sharing(
      ["T1", "T2", "T3"], rules: AccessRules(schema: StoreSchema(types: [type])))
    let (store, journal) = (pair.a.store, Journal())
    let task = Task {
      await store.tellReports(
        to: SyncCallbacks(
          failedInserts: { journal.note("inserts \($0.map(\.record.id))") },
          failedUpdates: { journal.note("updates \($0.map(\.record.id))") },
          failedDeletes: { journal.note("deletes \($0.map(\.record.id))") },
          completion: { journal.note("completed \($0.map(\.objectID.id))") }))
    }
    try await until { journal.lines == ["completed []"] }
    try pair.a.remove("T2")
    try pair.a.retitle("T3", "b")
    try pair.a.edit("T1") { $0.note = "refused" }
    try pair.a.insert("T9", "new", note: "refused")
    try pair.a.insert("T8", "new")
    await store.sync()
    try await until { journal.lines.count >= 5 }
    for _ in 0..<1000 { await Task.yield() }
    #expect(
      journal.lines.dropFirst() == [
        "inserts [\"T9\"]", "updates [\"T1\"]", "deletes [\"T2\"]", "completed [\"T8\", \"T3\"]",
      ])
    task.cancel()
    await task.value
  }

  @Test("A reader that lags too far learns the number of missed reports")
  func bound() async throws {
    let pair = try Pair()
    let reports = pair.a.store.maintenance.reports
    for _ in 0..<130 { await pair.a.store.sync() }
    var iterator = reports.makeAsyncIterator()
    #expect(await iterator.next()?.missed == 30)
    #expect(await iterator.next()?.missed == 0)
  }

  @Test("A network-first save with a conflict is reported with the replaced content")
  func onlineSave() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let reports = pair.a.store.maintenance.reports
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"), options: .saving(.remoteThenLocal))
    #expect(receipt.known == .overwritten(version: "2"))
    var iterator = reports.makeAsyncIterator()
    let report = try #require(await iterator.next())
    #expect(try report.overwritten.map { try $0.fields?.members()["title"] } == ["mine"])
    try pair.a.restart()
    #expect(try pair.a.store.receipt(for: .note()).known == .overwritten(version: "2"))
    #expect(try pair.a.store.journal.entries().first?.lost?.members()["title"] == "mine")
  }

  @Test("Later callbacks continue where earlier ones ended")
  func changing() async throws {
    let pair = try Pair()
    let store = pair.a.store
    for (round, ids) in [["T1"], ["T2", "T3"]].enumerated() {
      try await sync(pair, ids)
      let journal = Journal()
      let task = Task {
        await store.tellReports(
          to: SyncCallbacks(completion: { objects in
            for object in objects { journal.note(object.objectID.id) }
          }))
      }
      try await until { journal.lines.last == ids.last }
      #expect(journal.lines == ids, "round \(round)")
      task.cancel()
      await task.value
    }
  }
}
