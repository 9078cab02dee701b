import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// Merge rules that receive Swift values: their input, and the effect of their results.
@Suite("Typed merge rules", .timeLimit(.minutes(5)))
struct TypedRuleTests {
  private typealias Rule = @Sendable (Conflict<Note>) async throws -> Resolution<Note>

  /// A pair on which B's title and A's note of T1 are in conflict, with a typed rule.
  private func conflict(_ rule: @escaping Rule) async throws -> Pair {
    let pair = try await Pair.sharing { $0.merging.set(for: Note.self, rule) }
    try pair.b.edit { ($0.title, $0.score) = ("b", 2) }
    await pair.b.store.sync()
    try pair.a.edit { ($0.note, $0.score) = ("a", 3) }
    return pair
  }

  @Test("A rule sees the base, both sides, the field-by-field merge and the change")
  func given() async throws {
    let seen = Mutex<[Conflict<Note>]>([])
    let pair = try await conflict { conflict in
      seen.withLock { $0.append(conflict) }
      return .remote
    }
    await pair.a.store.sync()
    let found = try #require(seen.withLock { $0.first })
    #expect(seen.withLock { $0.count } == 1)
    #expect(found.change == .update)
    #expect(found.base == Note(id: "T1", "start"))
    #expect(found.local?.note == "a" && found.local?.title == "start" && found.local?.score == 3)
    #expect(found.remote?.note == nil && found.remote?.title == "b" && found.remote?.score == 2)
    #expect(
      found.suggestion?.note == "a" && found.suggestion?.title == "b" && found.suggestion?.score == 5)
  }

  @Test("Local sends the record here, remote takes the server's and reports it")
  func sides() async throws {
    let mine = try await conflict { _ in .local }
    await mine.a.store.sync()
    #expect(try await mine.server("T1") == ["title": "start", "note": "a", "score": 3])
    #expect(try await mine.isEven())
    let theirs = try await conflict { _ in .remote }
    #expect(await theirs.a.store.sync().overwritten.map(\.record) == [.note()])
    #expect(try await theirs.server("T1") == ["title": "b", "score": 2])
    #expect(try await theirs.isEven())
  }

  @Test("Both devices and the server end with a merged value")
  func merged() async throws {
    let pair = try await conflict { conflict in
      guard var note = conflict.suggestion else { return .remote }
      note.title += " and more"
      note.note = nil
      return .merged(note)
    }
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "b and more", "score": 5])
    #expect(try await pair.isEven())
  }

  @Test("A merged value has the record's id, whatever its own id")
  func otherID() async throws {
    let pair = try await conflict { _ in .merged(Note(id: "T9", "made anew")) }
    await pair.a.store.sync()
    #expect(try await pair.server("T1") == ["title": "made anew", "score": 0])
    #expect(try await pair.server("T9") == nil)
    #expect(try await pair.isEven())
  }

  @Test("A deleted side is nil, and a merged value recreates the record")
  func deletions() async throws {
    for isDeletedHere in [true, false] {
      let seen = Mutex<[Conflict<Note>]>([])
      let pair = try await Pair.sharing {
        $0.merging.set(for: Note.self) { conflict in
          seen.withLock { $0.append(conflict) }
          return (conflict.local ?? conflict.remote).map { .merged($0) } ?? .remote
        }
      }
      let (deleting, editing) = isDeletedHere ? (pair.a, pair.b) : (pair.b, pair.a)
      try deleting.remove()
      try editing.retitle("kept")
      await pair.b.store.sync()
      await pair.a.store.sync()
      let found = try #require(seen.withLock { $0.first })
      #expect((found.local == nil) == isDeletedHere && (found.remote == nil) != isDeletedHere)
      #expect(found.change == (isDeletedHere ? .delete : .update))
      #expect(found.base?.title == "start" && found.suggestion?.title == "kept")
      #expect(try await pair.serverTitle() == "kept")
      #expect(try await pair.isEven())
    }
  }

  @Test("A record created on both sides has no base")
  func insertions() async throws {
    let seen = Mutex<[Conflict<Note>]>([])
    let pair = try Pair {
      $0.merging.set(for: Note.self, on: [.insert]) { conflict in
        seen.withLock { $0.append(conflict) }
        return .local
      }
    }
    for device in [pair.b, pair.a] {
      try device.insert("T1", device.name)
      await device.store.sync()
    }
    let found = try #require(seen.withLock { $0.first })
    #expect(found.change == .insert && found.base == nil)
    #expect(found.local?.title == "a" && found.remote?.title == "b")
    #expect(try await pair.serverTitle() == "a")
    #expect(try await pair.isEven())
  }

  @Test("A rule for one change precedes the type's own, whichever was set first")
  func kinds() {
    for isFirst in [true, false] {
      var policies = MergePolicies(default: .fieldByField, updates: .latestWins)
      if isFirst { policies.set(.localWins, for: Note.self) }
      policies.set(.remoteWins, for: Note.self, on: [.delete])
      if !isFirst { policies.set(.localWins, for: Note.self) }
      let names = [BothySync.ChangeKind.insert, .update, .delete].map {
        policies.policy(for: $0, type: "Note").name
      }
      #expect(names == ["localWins", "localWins", "remoteWins"])
      #expect(policies.policy(for: .update, type: "Other").name == "latestWins")
    }
    var all = MergePolicies()
    all.set(.localWins, for: Note.self, on: Set(BothySync.ChangeKind.allCases))
    for kind in BothySync.ChangeKind.allCases {
      #expect(all.policy(for: kind, type: "Note").name == "localWins")
    }
  }

  @Test("A rule that throws leaves the record pending, and runs again")
  func throwing() async throws {
    struct Undecided: Error {}
    let calls = Calls()
    let pair = try await conflict { _ in
      if calls.add() == 1 { throw Undecided() }
      return .local
    }
    #expect(await pair.a.store.sync().rejected.map(\.code) == ["mergeFailed"])
    #expect(try pair.a.isPending() && pair.a.note()?.note == "a")
    await pair.a.store.sync()
    #expect(calls.count == 2)
    #expect(try await pair.isEven())
  }
}
