import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("The feed of a space for back ends", .timeLimit(.minutes(5)))
struct FeedTests {
  private let storage: SQLiteServerStorage
  private var service: SyncService

  init() throws {
    storage = try SQLiteServerStorage()
    service = SyncService(storage: storage, now: { 1000 })
  }

  /// Makes a change and returns the record's new version.
  @discardableResult
  private func change(
    _ kind: ChangeKind, _ id: String, base: String? = nil, _ text: String = "t", by name: String = "ann",
    space: String = "s"
  ) async throws -> String {
    let operation = SyncOperation(
      id: "o", kind: kind, record: .note(id), base: base,
      fields: kind == .delete ? [:] : ["title": .string(text)])
    let verdict = try await service.perform(space: space, user: Caller(name), operation)
    guard case .applied(let version, _, _) = verdict else {
      Issue.record("\(verdict)")
      return ""
    }
    return version
  }

  private func feed(_ cursor: String? = nil, limit: Int = 1000) async throws -> FeedPage {
    try await service.feed(space: "s", after: cursor, limit: limit)
  }

  /// Reads all pages after a cursor.
  private func all(_ cursor: String? = nil, limit: Int) async throws -> [FeedChange] {
    var page = try await feed(cursor, limit: limit)
    var changes = page.changes
    while page.more {
      page = try await feed(page.cursor, limit: limit)
      #expect(page.changes.count <= limit && !page.isReset)
      changes += page.changes
    }
    return changes
  }

  @Test("Changes come in the order of commits, with user, time and the present record")
  func order() async throws {
    let first = try await change(.insert, "a")
    try await change(.insert, "b", by: "bob")
    let second = try await change(.update, "a", base: first, "new", by: "bob")
    try await change(.delete, "b", base: "2")
    let page = try await feed()
    #expect(page.isReset && !page.more && !page.isIncomplete && page.upTo == 4)
    #expect(page.changes.map(\.position) == [1, 2, 3, 4])
    #expect(page.changes.map(\.kind) == [.insert, .insert, .update, .delete])
    #expect(page.changes.map(\.user) == ["ann", "bob", "bob", "ann"])
    #expect(page.changes.allSatisfy { $0.time == 1000 })
    #expect(page.changes.map(\.record?.version) == [second, "4", second, "4"], "as they are now")
    #expect(page.changes.map(\.record?.isDeleted) == [false, true, false, true])
    let later = try await feed(page.cursor)
    #expect(later.changes.isEmpty && !later.isReset && later.cursor == page.cursor)
    try await change(.insert, "c")
    #expect(try await feed(later.cursor).changes.map(\.id) == [.note("c")])
  }

  @Test("Permissions hide nothing from a feed")
  func permissions() async throws {
    var world = self
    world.service.rules = SharingRuleTests.rules()
    try await world.change(.insert, "a")
    #expect(try await world.feed().changes.first?.record?.owner == "ann")
  }

  /// Promises: A-20
  @Test("Pages of any size have each change once", arguments: [1, 2, 3, 7, 100])
  func pages(limit: Int) async throws {
    var versions: [String] = []
    for number in 0..<10 { versions.append(try await change(.insert, "n\(number)")) }
    for (index, number) in [3, 5, 3].enumerated() {
      versions[number] = try await change(.update, "n\(number)", base: versions[number], "again \(index)")
    }
    #expect(try await all(limit: limit).map(\.position) == Array(1...13))
    var small = self
    small.service.rules.answerSize = 1
    let page = try await small.feed()
    #expect(page.changes.count == 1 && page.more, "one change at least, whatever its size")
    #expect(try await small.all(limit: limit).map(\.position) == Array(1...13))
  }

  @Test("Names of cleared fields count in the bytes of a page")
  func names() async throws {
    var version = try await change(.insert, "a")
    let names = (0..<400).map { "\($0)-" + String(repeating: "n", count: 30) }
    for number in 0..<20 {
      var fields = Dictionary(uniqueKeysWithValues: names.map { ($0, JSONValue.null) })
      fields["title"] = .int(Int64(number))
      let operation = SyncOperation(
        id: "o", kind: .update, record: .note("a"), base: version, fields: fields)
      let verdict = try await service.perform(space: "s", user: Caller("ann"), operation)
      guard case .applied(let next, _, _) = verdict else {
        Issue.record("\(verdict)")
        return
      }
      version = next
    }
    let page = try await service.delivery(space: "s", after: .start, limit: 500, bytes: 50_000)
    let size = page.changes.reduce(0) { $0 + $1.fields.reduce(0) { $0 + $1.utf8.count } }
    #expect(page.more && size > 20_000 && size < 80_000, "\(size) bytes of names")
    #expect(try await all(limit: 500).count == 21)
  }

  @Test("Records without a remembered change come at their own position")
  func imported() async throws {
    try await change(.insert, "a")
    let record = ServerRecord(
      id: .note("b"), version: "", modified: 5, owner: "cid", fields: FieldsDocument(["title": "old"]))
    _ = try await service.restore([record], into: "s")
    try await change(.insert, "c")
    let changes = try await all(limit: 2)
    #expect(changes.map(\.id) == [.note("a"), .note("b"), .note("c")])
    #expect(changes[1].kind == .update && changes[1].time == nil && changes[1].user == nil)
    #expect(changes[1].record?.owner == "cid")
  }

  @Test("Beyond the remembered changes each record comes once, with nothing left out")
  func forgotten() async throws {
    var world = self
    world.service.rules.historyLimit = 0
    let first = try await world.change(.insert, "a")
    try await world.change(.insert, "b")
    try await world.change(.update, "a", base: first, "new")
    world.service.rules.historyLimit = 10
    try await world.change(.insert, "c")
    #expect(try await world.all(limit: 1).map(\.position) == [2, 3, 4])
  }

  /// Promises: A-21
  @Test("A new epoch, or an unknown position, is a reset from the start")
  func epoch() async throws {
    try await change(.insert, "a")
    let page = try await feed()
    try await storage.startEpoch(space: "s")
    let reset = try await feed(page.cursor)
    #expect(reset.isReset && reset.epoch != page.epoch && reset.changes.map(\.id) == [.note("a")])
    #expect(try await feed(reset.cursor).isReset == false)
    let ahead = reset.cursor.replacing(String(reset.upTo), with: String(reset.upTo + 5))
    #expect(try await feed(ahead).isReset)
  }

  /// Promises: A-21
  @Test("A cursor from before forgotten deletions is told that the page is incomplete")
  func compaction() async throws {
    try await change(.insert, "a")
    try await change(.insert, "b")
    let early = try await feed()
    try await change(.delete, "a", base: "1")
    let late = try await feed()
    try await storage.compact(space: "s", upTo: 3)
    let page = try await feed(early.cursor)
    #expect(page.isIncomplete && !page.isReset)
    #expect(page.changes.map(\.kind) == [.delete] && page.changes[0].record == nil, "its tombstone is gone")
    #expect(try await feed(late.cursor).isIncomplete == false)
    #expect(try await feed().isIncomplete == false)
  }

  @Test("A first reading goes on through a compaction of older deletions")
  func compactionMeanwhile() async throws {
    for id in ["a", "b", "c"] { try await change(.insert, id) }
    let first = try await feed(limit: 1)
    try await storage.compact(space: "s", upTo: 3)
    #expect(try await feed(first.cursor, limit: 1).isIncomplete == false)
  }

  @Test("The cursor of an empty space continues with its first change")
  func empty() async throws {
    let page = try await feed()
    #expect(page.isReset && page.changes.isEmpty && page.epoch.isEmpty)
    try await change(.insert, "a")
    let next = try await feed(page.cursor)
    #expect(!next.isReset && next.changes.map(\.position) == [1])
  }

  @Test("Cursors of pulls and other texts are refused", arguments: ["x", "", "e.1.x", "e.-1.feed"])
  func badCursor(_ token: String) async throws {
    let error = await #expect(throws: SyncServiceError.self) { try await feed(token) }
    #expect(error?.code == .badCursor)
  }

  /// Promises: A-20
  @Test("Readers that follow at random have each change, in order", arguments: 0..<20 as Range<UInt64>)
  func random(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    var world = self
    world.service.rules.historyLimit = 300
    var versions: [String: String] = [:]
    var cursor: String?
    var (read, written) = ([Int64](), [Int64]())
    for _ in 0..<120 {
      let id = "n\(Int.random(in: 0..<9, using: &random))"
      if let base = versions[id] {
        let isGone = random.chance(20)
        let version = try await world.change(isGone ? .delete : .update, id, base: base, "t\(written.count)")
        versions[id] = isGone ? nil : version
        written.append(Int64(version) ?? 0)
      } else {
        versions[id] = try await world.change(.insert, id)
        written.append(versions[id].flatMap { Int64($0) } ?? 0)
      }
      guard random.chance(30) else { continue }
      world.service.rules.answerSize = random.chance(50) ? 600 : 8 << 20
      let page = try await world.feed(cursor, limit: Int.random(in: 1...8, using: &random))
      read += page.changes.map(\.position)
      cursor = page.cursor
    }
    read += try await world.all(cursor, limit: 5).map(\.position)
    #expect(read == written, "seed \(seed)")
  }
}
