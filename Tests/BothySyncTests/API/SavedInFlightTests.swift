import BothyStore
import BothySync
import BothyTesting
import Testing

/// Values that are saved online and saved here again before the server has answered. Whether readers see the first save
/// doesn't matter to the second: it is the same as if the answer had come between them.
@Suite("Values saved again while their save is under way", .faultsStrike, .timeLimit(.minutes(5)))
struct SavedInFlightTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]
  private static let faults: [FaultyRemote.Fault] = [.none, .lostRequest, .lostAnswer]
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  /// Saves a note online and another here meanwhile, both made of the value that was read, and expects the server and
  /// both devices to have `fields`.
  private func verify(
    _ fields: [String: JSONValue], _ online: WritePolicy, _ fault: FaultyRemote.Fault,
    _ first: (inout Note) -> Void, then second: (inout Note) -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      if fault != .none { pair.a.remote.plan(fault, on: .operations, times: 1) }
      let read = try #require(try pair.a.note())
      var (sent, saved) = (read, read)
      first(&sent)
      second(&saved)
      let later = saved
      OnlineMeanwhileTests.meanwhile(pair.a) { try await $0.save(later, policy: .local) }
      try await pair.a.store.save(sent, policy: online)
      #expect(try await pair.isEven(), "\(policy.name)", sourceLocation: sourceLocation)
      #expect(try await pair.server("T1") == fields, "\(policy.name)", sourceLocation: sourceLocation)
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty, sourceLocation: sourceLocation)
    }
  }

  // The value was read with 0. It counts 5 on the server and then 2 more, as it does after the answer (`CopiesTests`).
  @Test("A value counted up again while under way has both counts once", arguments: online, faults)
  func counted(online: WritePolicy, fault: FaultyRemote.Fault) async throws {
    try await verify(["title": "start", "score": 7], online, fault) {
      $0.score = 5
    } then: {
      $0.score = 7
    }
  }

  // The second value has the title as it was read, so it is another copy, with a count of its own: 5 and 7.
  @Test("Two copies of a value, one of them under way, both count", arguments: online, faults)
  func copies(online: WritePolicy, fault: FaultyRemote.Fault) async throws {
    try await verify(["title": "mine", "note": "copied", "score": 12], online, fault) {
      ($0.title, $0.score) = ("mine", 5)
    } then: {
      ($0.note, $0.score) = ("copied", 7)
    }
  }

  @Test("A field set back while its save is under way is set back", arguments: online, faults)
  func setBack(online: WritePolicy, fault: FaultyRemote.Fault) async throws {
    try await verify(["title": "start", "note": "kept", "score": 0], online, fault) {
      ($0.title, $0.note) = ("mistake", "kept")
    } then: {
      $0.note = "kept"
    }
  }

  @Test(
    "A value saved here as it is under way counts once and is durable", arguments: online, faults)
  func same(online: WritePolicy, fault: FaultyRemote.Fault) async throws {
    try await verify(["title": "mine", "score": 5], online, fault) {
      ($0.title, $0.score) = ("mine", 5)
    } then: {
      ($0.title, $0.score) = ("mine", 5)
    }
  }

  // The save here was made later, although the one on the server ended last. So a third save sets the title back.
  @Test("The newest save of a value is the one made last", arguments: online)
  func newest(online: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    var note = try #require(try pair.a.note())
    note.title = "one"
    let first = note
    note.title = "two"
    let second = note
    OnlineMeanwhileTests.meanwhile(pair.a) { try await $0.save(second, policy: .local) }
    try await pair.a.store.save(first, policy: online)
    #expect(try pair.a.title() == "two")
    try await pair.a.store.save(first, policy: .local)
    #expect(try pair.a.title() == "one")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "one")
  }

  @Test("A refused save doesn't count as the last one of its value", arguments: online)
  func refused(online: WritePolicy) async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes, policy: .fieldByField)
    var note = try #require(try pair.a.note())
    (note.title, note.note, note.score) = ("mine", "refused", 5)
    let refused = note
    await #expect(throws: BothyError.self) { try await pair.a.store.save(refused, policy: online) }
    note.note = nil
    try await pair.a.store.save(note, policy: .local)
    #expect(try pair.a.title() == "mine")
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "score": 5])
  }
}
