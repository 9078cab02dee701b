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
  /// Makes a note, changes it and counts it up. Returns the store, and the note as it was read during that commit.
  private func noteRead(
    _ moment: CommitReader.Moment, in folder: TemporaryFolder
  ) throws -> (store: SyncedStore, note: Note) {
    let store = try SyncedStore(
      at: folder.path + "/a.sqlite", schema: .notes, remote: .none, configuration: .quiet)
    let local = store.store
    try local.write { try $0.insert(Note(id: "T1", "start")) }
    let reader = CommitReader(local, moment)
    try local.write { $0.database.add(transactionObserver: reader, extent: .observerLifetime) }
    reader.isOn.withLock { $0 = true }
    _ = try local.write { transaction in
      try transaction.update(Note.self, id: "T1") { note in
        note.title = "new"
        note.score += 1
      }
    }
    reader.isOn.withLock { $0 = false }
    return (store, try #require(reader.found.withLock { $0 }))
  }

  @Test("A value that is read during a commit reverts nothing of it")
  func reverts() throws {
    let folder = try TemporaryFolder()
    let (store, read) = try noteRead(.before, in: folder)
    var stale = read
    #expect(stale.title == "start" && stale.score == 0)
    stale.note = "added"
    stale.score += 1
    let edited = stale
    try store.store.write { try $0.save(edited) }
    let kept = try #require(try store.store.fetch(Note.self, id: "T1"))
    #expect(kept.title == "new" && kept.note == "added" && kept.score == 2)
  }

  @Test("A value that shows a commit which has not ended counts once")
  func shows() throws {
    let folder = try TemporaryFolder()
    let (store, read) = try noteRead(.after, in: folder)
    var note = read
    #expect(note.title == "new" && note.score == 1)
    note.title = "start"
    note.score += 1
    let edited = note
    try store.store.write { try $0.save(edited) }
    let kept = try #require(try store.store.fetch(Note.self, id: "T1"))
    #expect(kept.title == "start" && kept.score == 2)
  }
}

/// Reads a note at the end of each transaction: when nothing of its commit has been written, or when readers see it and the
/// store doesn't know yet.
private final class CommitReader: TransactionObserver, Sendable {
  enum Moment { case before, after }

  let isOn = Mutex(false)
  let found = Mutex<Note?>(nil)
  private let store: LocalStore
  private let moment: Moment

  init(_ store: LocalStore, _ moment: Moment) { (self.store, self.moment) = (store, moment) }

  private func read() throws {
    guard isOn.withLock({ $0 }) else { return }
    let note = try store.read { try $0.fetch(Note.self, id: "T1") }
    found.withLock { $0 = note }
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws { if moment == .before { try read() } }
  func databaseDidCommit(_ db: Database) {
    guard moment == .after else { return }
    do { try read() } catch { Issue.record(error) }
  }
  func databaseDidRollback(_ db: Database) {}
}
