import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import GRDB
import Testing

/// Readers of reports whose task ends before they have read the journal.
@Suite("Cancelled readers of reports", .timeLimit(.minutes(5)))
struct CancelledReaderTests {
  /// Passes the ids of the synced records on to `lines`.
  private func read(_ store: SyncedStore, as name: String, _ lines: Received<String>) async {
    await store.tellReports(as: name) { report in
      for synced in report.synced { lines.append(synced.record.id) }
    }
  }

  private func save(_ id: String, to store: SyncedStore) async throws {
    try await store.store.write { try $0.insert(Note(id: id, "n")) }
    #expect(await store.sync().pushed == 1)
  }

  @Test("A reader that is cancelled while it catches up misses no decision later")
  func whileCatchingUp() async throws {
    let world = try SimulatedWorld()
    let store = try SyncedStore(
      at: nil, schema: .notes, remote: InProcessRemote(world.service), configuration: .quiet,
      clock: SyncClock(now: world.time.reader()))
    let (first, lines) = (Received<String>(), Received<String>())
    // The first reader has the reports since the opening. Others begin with the journal.
    let other = Task { await read(store, as: "first", first) }
    try await save("T1", to: store)
    try await until { first.values == ["T1"] }
    let (reading, start) = (Locked<Task<Void, Never>?>(nil), Latch())
    try await store.store.write(origin: .remote) { transaction in
      transaction.database.trace(options: .statement) { event in
        guard case .statement(let statement) = event,
          statement.sql.contains("FROM bothy_sync WHERE key")
        else { return }
        // The reader looks for its position. The read that has begun runs to its end, and the next one fails.
        reading.value?.cancel()
      }
    }
    let task = Task {
      await start.pass()
      await read(store, as: "screen", lines)
    }
    reading.value = task
    start.open()
    await task.value
    #expect(task.isCancelled && lines.values.isEmpty)
    reading.value = nil
    let again = Task { await read(store, as: "screen", lines) }
    try await save("T2", to: store)
    try await until { lines.values.contains("T2") }
    #expect(lines.values == ["T1", "T2"])
    for task in [other, again] {
      task.cancel()
      await task.value
    }
  }
}
