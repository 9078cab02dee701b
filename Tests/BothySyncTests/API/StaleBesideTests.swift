import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Values that one process of a device read before another process changed their records, and that it saves afterwards.
@Suite("Saving a value read before another process's edit", .timeLimit(.minutes(5)))
struct StaleBesideTests {
  /// Device A of a pair, and a second process on its file.
  private struct Scene {
    let pair: Pair
    private(set) var other: SyncedStore

    /// - Parameter lead: the nanoseconds by which the first process that opened the file had another clock.
    init(lead: Int64? = nil) async throws {
      pair = try await Pair.sharing(policy: .fieldByField)
      if let lead {
        try await pair.a.store.store.write(origin: .remote) { transaction in
          let update = try PreparedStatement(
            """
            UPDATE bothy_meta SET value = substr(value, 1, instr(value, ' '))
              || (CAST(substr(value, instr(value, ' ') + 1) AS INTEGER) + ?) WHERE key = 'time'
            """, in: transaction.database)
          update.bind(lead, at: 1)
          try update.run()
        }
        try pair.a.restart()
      }
      other = try pair.a.openBeside()
    }

    /// Opens the file in both processes again, as in another run of the machine than the one that it notes.
    mutating func reboot() async throws {
      try await pair.a.store.store.write(origin: .remote) { transaction in
        try PreparedStatement(
          """
          UPDATE bothy_meta SET value = 'before' || substr(value, instr(value, ' ')) WHERE key = 'time'
          """, in: transaction.database
        ).run()
      }
      try other.close()
      try pair.a.restart()
      other = try pair.a.openBeside()
    }

    func read() throws -> Note { try #require(try pair.a.note()) }

    /// Edits the note in the second process, which then sends it if `isSent` is true.
    func beside(isSent: Bool = false, _ change: (inout Note) -> Void) async throws {
      try edit(change)
      if isSent { await other.sync() }
    }

    private func edit(_ change: (inout Note) -> Void) throws {
      try other.store.write { _ = try $0.update(Note.self, id: "T1") { change(&$0) } }
    }

    /// Expects these fields on the server and both devices, nothing pending, and nothing lost.
    func verify(
      _ fields: [String: JSONValue], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      #expect(try await pair.isEven(), sourceLocation: sourceLocation)
      let server = try await pair.server("T1")
      #expect(server == fields, sourceLocation: sourceLocation)
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty, sourceLocation: sourceLocation)
      try other.store.close()
    }
  }

  /// Promises: A-1, H-55
  @Test(
    "An edit reverts no field that another process has changed since", arguments: [false, true],
    [WritePolicy.local, .remoteThenLocal])
  func otherFields(isSent: Bool, save: WritePolicy) async throws {
    let scene = try await Scene()
    var note = try scene.read()
    try await scene.beside(isSent: isSent) { ($0.note, $0.own[0]) = ("theirs", 1) }
    note.title = "mine"
    try await scene.pair.a.store.save(note, options: .saving(save))
    try await scene.verify(["title": "mine", "note": "theirs", "a": 1, "score": 0])
  }

  // The note was read after the second process had set `a`, so clearing it again is an edit.
  @Test("A field that is set back after another process changed it stays set back", arguments: [false, true])
  func setBack(isSent: Bool) async throws {
    let scene = try await Scene()
    try await scene.beside(isSent: isSent) { ($0.note, $0.own[0]) = ("theirs", 1) }
    var note = try scene.read()
    note.own[0] = nil
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "start", "note": "theirs", "score": 0])
  }

  @Test("Of edits of one field in two processes the later wins, counts add up", arguments: [false, true])
  func sameField(isSent: Bool) async throws {
    let scene = try await Scene()
    var note = try scene.read()
    try await scene.beside(isSent: isSent) { ($0.title, $0.score) = ("theirs", 5) }
    (note.title, note.score) = ("mine", 1)
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "mine", "score": 6])
  }

  @Test("A value read between two edits of another process reverts neither", arguments: [false, true])
  func between(isSent: Bool) async throws {
    let scene = try await Scene()
    try await scene.beside(isSent: isSent) { $0.title = "one" }
    var note = try scene.read()
    try await scene.beside { ($0.title, $0.note) = ("two", "theirs") }
    note.own[0] = 1
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "two", "note": "theirs", "a": 1, "score": 0])
  }

  // The entry keeps the first and the newest values of a field, so the first one decides.
  @Test("A value reverts nothing of a process that has saved many times since")
  func often() async throws {
    let scene = try await Scene()
    var note = try scene.read()
    let long = String(repeating: "long ", count: 200)
    for number in 1...20 {
      try await scene.beside { ($0.title, $0.own[0]) = ("\(long)\(number)", number) }
    }
    note.note = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": .string("\(long)20"), "note": "mine", "a": 20, "score": 0])
  }

  @Test("A value that was not edited changes nothing of another process")
  func untouched() async throws {
    let scene = try await Scene()
    let note = try scene.read()
    try await scene.beside { ($0.title, $0.note) = ("theirs", "theirs") }
    let pending = try scene.pair.a.store.outboxEntries()
    try await scene.pair.a.store.save(note, options: .saving(.local))
    #expect(try scene.pair.a.store.outboxEntries() == pending)
    try await scene.verify(["title": "theirs", "note": "theirs", "score": 0])
  }

  private static let day: Int64 = 86_400_000_000_000

  @Test(
    "A process sees another's edits by the file's time, not its own", arguments: [-day, day], [false, true])
  func otherClock(lead: Int64, isSent: Bool) async throws {
    let scene = try await Scene(lead: lead)
    var note = try scene.read()
    try await scene.beside { ($0.note, $0.own[0]) = ("theirs", 1) }
    let time = try await scene.other.store.read { transaction -> Int64 in
      let select = try PreparedStatement(
        "SELECT json_extract(former, '$.note[0][1]') FROM bothy_outbox", in: transaction.database)
      defer { select.reset() }
      return try select.step() ? select.int(at: 0) : 0
    }
    let ahead = time - Int64(Date().timeIntervalSince1970 * 1_000_000_000)
    #expect(abs(ahead - lead) < Self.day / 2)
    if isSent { await scene.other.sync() }
    note.title = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "mine", "note": "theirs", "a": 1, "score": 0])
  }

  // The second process made its first edit before the reading, and the other one after it.
  @Test(
    "A field set back stays so after a reboot that changed the clock", arguments: [-day, day])
  func reboot(lead: Int64) async throws {
    var scene = try await Scene(lead: lead)
    try await scene.beside { $0.own[0] = 1 }
    try await scene.reboot()
    var note = try scene.read()
    try await scene.beside { $0.note = "theirs" }
    note.own[0] = nil
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "start", "note": "theirs", "score": 0])
  }

  @Test("A field set back in a restored file stays so, whatever the document's clock")
  func restored() async throws {
    let scene = try await Scene(lead: Self.day)
    try await scene.beside { $0.own[0] = 1 }
    try scene.other.close()
    let device = scene.pair.a
    let (document, path) = (device.path + ".pending", device.path + "-again")
    try await device.store.signOut(.export(to: document))
    #expect(try SyncedStore.restorePending(from: document, into: path, schema: .notes))
    let open = { try SyncedStore(at: path, schema: .notes, remote: device.remote, configuration: .quiet) }
    let (store, other) = (try open(), try open())
    var note = try #require(try await store.store.fetch(Note.self, id: "T1"))
    try await other.store.write { _ = try $0.update(Note.self, id: "T1") { $0.note = "theirs" } }
    note.own[0] = nil
    try await store.save(note, options: .saving(.local))
    let saved = try #require(try await store.store.fetch(Note.self, id: "T1"))
    #expect(saved.note == "theirs" && saved.own[0] == nil)
    try other.close()
    try store.close()
  }

  @Test("A value created before another process's pull reverts nothing by any clock", arguments: [-day, day])
  func otherClockOfPull(lead: Int64) async throws {
    let scene = try await Scene(lead: lead)
    var note = Note(id: "T1", "start")
    try scene.pair.b.retitle("theirs")
    await scene.pair.b.store.sync()
    await scene.other.sync()
    note.note = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "theirs", "note": "mine", "score": 0])
  }

  // The second count of the same value is 2 more, also for another store that saves it.
  @Test("A value that two stores save one after the other counts each edit once")
  func continued() async throws {
    let scene = try await Scene()
    var note = try scene.read()
    note.score = 1
    try await scene.other.save(note, options: .saving(.local))
    note.score = 3
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "start", "score": 3])
  }

  // The save waits for the server unseen. Without an answer the row shows it, with the version that it had.
  @Test("A save that another process made offline is reverted by no older value", arguments: [false, true])
  func unanswered(isOvertaken: Bool) async throws {
    let scene = try await Scene()
    let remote = scene.pair.a.remote
    var (note, theirs) = (try scene.read(), try scene.read())
    (theirs.title, theirs.own[0]) = ("theirs", 1)
    remote.isOffline = true
    if isOvertaken {
      let (store, calls) = (scene.other.store, Calls())
      remote.setBeforeSending { _ in
        guard calls.add() == 1 else { return }
        do {
          try await store.write { _ = try $0.update(Note.self, id: "T1") { $0.score = 2 } }
        } catch { Issue.record(error) }
      }
    }
    try await scene.other.save(theirs, options: .saving(.remoteThenLocal))
    remote.isOffline = false
    note.note = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "theirs", "note": "mine", "a": 1, "score": isOvertaken ? 2 : 0])
  }

  @Test("A change that was settled as kept here is reverted by no older value")
  func keptHere() async throws {
    let scene = try await Scene()
    var note = try scene.read()
    try await scene.beside { $0.title = "theirs" }
    try scene.other.resolve(.note(), .keepLocal)
    note.note = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    let shown = try scene.read()
    #expect(shown.title == "theirs" && shown.note == "mine")
    try scene.other.store.close()
  }

  // Readings are times. The number of the store is changed, because the stores of a test are in one process.
  @Test("Values with equal readings in two processes aren't taken for one value")
  func equalReadings() async throws {
    let scene = try await Scene()
    var note = try scene.read()
    var theirs = note
    theirs.title = "theirs"
    try await scene.other.save(theirs, options: .saving(.local))
    try await scene.other.store.write { transaction in
      try PreparedStatement(
        "UPDATE bothy_outbox SET former = json_set(former, '$.title[0][0]', 1)", in: transaction.database
      ).run()
    }
    note.note = "mine"
    try await scene.pair.a.store.save(note, options: .saving(.local))
    try await scene.verify(["title": "theirs", "note": "mine", "score": 0])
  }
}
