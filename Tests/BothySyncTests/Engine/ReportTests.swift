import BothyLegacy
import BothyStore
import BothySync
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

  @Test("A slow reader receives every report in order")
  func slowReader() async throws {
    let pair = try Pair()
    let reports = pair.a.store.reports
    try await sync(pair, ["T1", "T2", "T3", "T4", "T5"])
    var told: [String] = []
    for await report in reports {
      told += report.synced.map(\.record.id)
      if told.last == "T5" { break }
    }
    #expect(told == ["T1", "T2", "T3", "T4", "T5"])
  }

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

  @Test("A reader that lags too far learns the number of missed reports")
  func bound() async throws {
    let pair = try Pair()
    let reports = pair.a.store.reports
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
    let reports = pair.a.store.reports
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
