import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DoctorTests {
  let folder: TemporaryFolder
  let store: LocalStore

  init() throws {
    folder = try TemporaryFolder()
    store = try LocalStore(at: folder.database, schema: todoSchema)
    try store.write { transaction in
      for number in 0..<2000 {
        try transaction.insert(Todo("\(number)", "title \(number)", tags: ["t\(number % 7)"]))
      }
    }
  }

  /// Expects one finding of `check` whose message contains `phrase`, and none after a repair.
  private func expectRepairable(_ check: String, _ phrase: String, fault: String) throws {
    try store.tamper(fault)
    let diagnosis = try store.diagnose()
    #expect(diagnosis.findings.map(\.check) == [check], "\(diagnosis.findings)")
    #expect(diagnosis.findings.first?.message.contains(phrase) == true, "\(diagnosis.findings)")
    #expect(!diagnosis.isHealthy && diagnosis.problems.count == 1)
    #expect(try store.diagnose() == diagnosis, "a diagnosis changes nothing")
    #expect(try store.repair(diagnosis).findings == [])
  }

  @Test("A sound store has no findings")
  func sound() throws {
    #expect(try store.diagnose().findings == [] && store.diagnose().problems.isEmpty)
    #expect(try LocalStore.diagnose(fileAt: folder.database).findings == [])
  }

  @Test("A dropped index is found and rebuilt")
  func droppedIndex() throws {
    try expectRepairable("tables", "bothy_index_Todo_done", fault: "DROP INDEX bothy_index_Todo_done")
  }

  @Test("A dropped trigger is found and recreated")
  func droppedTrigger() throws {
    try expectRepairable("tables", "bothy_fts_Todo_update", fault: "DROP TRIGGER bothy_fts_Todo_update")
  }

  @Test("A text index without its entries is found and rebuilt")
  func emptyText() throws {
    try expectRepairable(
      "text", "text index of Todo",
      fault: "INSERT INTO bothy_fts_Todo(bothy_fts_Todo) VALUES ('delete-all')")
  }

  @Test("Missing entries of the reference index are found and restored")
  func missingLinks() throws {
    try expectRepairable("links", "lacks 286", fault: "DELETE FROM bothy_link WHERE target = 't0'")
  }

  @Test("Dangling entries of the reference index are found and removed")
  func danglingLinks() throws {
    try expectRepairable(
      "links", "1 too many", fault: "INSERT INTO bothy_link VALUES ('Tag', 't9', 'Todo', 'tags', 'nobody')")
    try expectRepairable(
      "links", "1 entries of fields",
      fault: "INSERT INTO bothy_link VALUES ('Tag', 't9', 'Gone', 'x', 'nobody')")
  }

  @Test("Missing columns, undeclared columns, missing values and broken lists are found")
  func rows() throws {
    try store.tamper("ALTER TABLE Todo ADD COLUMN extra TEXT")
    try store.tamper("ALTER TABLE Todo RENAME COLUMN _version TO _other")
    try store.tamper("UPDATE Todo SET title = NULL WHERE _id = '5'")
    try store.tamper("UPDATE Todo SET tags = '[oops' WHERE _id = '6'")
    let messages = try store.diagnose().findings.map(\.message)
    for phrase in [
      "column Todo._version is missing", "undeclared column extra", "1 records of Todo have no title",
      "1 records of Todo have a tags that is not JSON",
    ] {
      #expect(messages.contains { $0.contains(phrase) }, "\(phrase) in \(messages)")
    }
  }

  @Test("Damaged pages are found in an open store and in a file")
  func damagedPages() throws {
    try store.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
    let size = try file.seekToEnd()
    for page in stride(from: UInt64(30), to: size / 4096, by: 5) {
      try file.seek(toOffset: page * 4096)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 600))
    }
    try file.close()
    let alone = try LocalStore.diagnose(fileAt: folder.database)
    #expect(alone.findings.contains { $0.severity == .error && $0.check == "file" })
    let opened = try LocalStore(at: folder.database, schema: todoSchema).diagnose()
    #expect(opened.findings.contains { $0.severity == .error })
  }

  @Test("A file with a damaged first page gives an error or findings, no crash")
  func damagedHeader() throws {
    try store.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
    try file.seek(toOffset: 100)
    try file.write(contentsOf: Data(repeating: 0xFF, count: 3000))
    try file.close()
    var options = StoreOptions()
    options.damagedFile = .leave
    let error = #expect(throws: BothyError.self) {
      _ = try LocalStore(at: folder.database, schema: todoSchema, options: options)
    }
    #expect(error?.code == .corrupt)
    do {
      #expect(try !LocalStore.diagnose(fileAt: folder.database).isHealthy)
    } catch let error as BothyError {
      #expect(error.code == .corrupt)
    }
  }

  @Test("Checks of other modules run, and their errors become findings")
  func addedChecks() throws {
    struct Added: StoreCheck {
      func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
        [
          .init(
            .note, check: "added", "seen \(try transaction.exists(RecordID(type: "Todo", id: "1")))",
            remedy: "")
        ]
      }
    }
    struct Failing: StoreCheck {
      func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
        throw BothyError(.corrupt, "no table")
      }
    }
    let diagnosis = try store.diagnose(with: [Added(), Failing()])
    #expect(diagnosis.findings.map(\.severity) == [.note, .error])
    #expect(diagnosis.findings.first?.message == "seen true")
  }
}
