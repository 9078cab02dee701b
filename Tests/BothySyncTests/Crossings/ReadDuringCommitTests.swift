import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import GRDB
import Synchronization
import Testing

/// Values that are read while a commit of the same process is on its way to the disk.
@Suite("Values that are read during a commit", .timeLimit(.minutes(5)))
struct ReadDuringCommitTests {
  @Test("A value that is read during a commit reverts nothing of it")
  func reverts() throws {
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.path + "/a.sqlite", schema: .notes, remote: .none, configuration: .quiet)
    let local = store.store
    try local.write { try $0.insert(Note(id: "T1", "start")) }
    let reader = CommitReader(local)
    try local.write { $0.database.add(transactionObserver: reader, extent: .observerLifetime) }
    reader.isOn.withLock { $0 = true }
    _ = try local.write { transaction in
      try transaction.update(Note.self, id: "T1") { note in
        note.title = "new"
        note.score += 1
      }
    }
    reader.isOn.withLock { $0 = false }
    var stale = try #require(reader.found.withLock { $0 })
    #expect(stale.title == "start" && stale.score == 0)
    stale.note = "added"
    stale.score += 1
    let edited = stale
    try local.write { try $0.save(edited) }
    let kept = try #require(try local.fetch(Note.self, id: "T1"))
    #expect(kept.title == "new" && kept.note == "added" && kept.score == 2)
  }
}

/// Reads a note at the end of each transaction, when nothing of its commit has been written.
private final class CommitReader: TransactionObserver, Sendable {
  let isOn = Mutex(false)
  let found = Mutex<Note?>(nil)
  private let store: LocalStore

  init(_ store: LocalStore) { self.store = store }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws {
    guard isOn.withLock({ $0 }) else { return }
    let note = try store.read { try $0.fetch(Note.self, id: "T1") }
    found.withLock { $0 = note }
  }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
