import BothyLegacy
import BothyStore
import BothySync
import BothyTesting
import Testing

/// The calls that `BothyLegacy` adds to a synced store, for apps that move from the older systems.
@Suite("Calls in the terms of older systems", .timeLimit(.minutes(5)))
struct OlderTermsTests {
  @Test("An option in the older terms sets the option that the engine reads")
  func options() {
    var options = SyncOptions()
    #expect(options.storesRecords && options.sendsEditTimes)
    #expect(!options.readsLocallyUntilSynced && !options.sendsWhatIsNotStored)
    #expect(!options.ignoresRepeatedSyncs && !options.answersUnevaluableWithNothing)
    options.storesRecords = false
    options.readsLocallyUntilSynced = true
    options.sendsWhatIsNotStored = true
    options.ignoresRepeatedSyncs = true
    options.answersUnevaluableWithNothing = true
    options.trustsCompleteResults = true
    options.longestSyncBeforeRead = .seconds(2)
    options.rejectionPoliciesByType = ["Note": .discardAndRefetch]
    options.storesChangesOfAllContainers = true
    options.sendsEditTimes = false
    #expect(options.cache == .disabled && options.startup == .syncThenNetwork)
    #expect(options.localFailure == .tryRemote && options.ifRunning == .ignore)
    #expect(options.unevaluable == .empty && options.trustsCompleteness)
    #expect(options.readTimeout == .seconds(2) && options.rejectionPolicies["Note"] == .discardAndRefetch)
    #expect(options.storesUnfollowedChanges && !options.sendsLocalTimes)
  }

  @Test("A container has pending changes, a validator and locks")
  func containers() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    try pair.a.retitle("T1", "mine")
    #expect(try await store.containersToSync() == ["Note"])
    #expect(try await store.pendingChanges(in: "Note").map(\.id) == [.note("T1")])
    #expect(try store.lastValidator(of: "Note") != nil)
    try store.removeValidator(of: "Note")
    #expect(try store.lastValidator(of: "Note") == nil)
    let answer = try await store.lockingSyncs(of: "Note") {
      await store.lockingWrites(to: "Note") { 42 }
    }
    #expect(answer == 42)
  }

  @Test("A live change is applied at once, and once only")
  func liveChange() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("T1", "theirs")
    await pair.b.store.sync()
    let record = try #require(try await pair.world.serverRecords()[.note("T1")])
    #expect(try await pair.a.store.applyLive(record))
    #expect(try pair.a.title() == "theirs")
    #expect(try await !pair.a.store.applyLive(record))
  }

  @Test("Changes are downloaded since a token, and records ahead of need")
  func downloads() async throws {
    let pair = try await Pair.sharing()
    let first = try await pair.a.store.downloadChanges()
    try pair.b.insert("X", "theirs")
    await pair.b.store.sync()
    let second = try await pair.a.store.downloadChanges(since: first.token)
    #expect(second.changed == [.note("X")] && second.removed.isEmpty && !second.isFromStart)
    let found = try await pair.a.store.prefetch(RecordQuery<Note>())
    #expect(found.records == [.note("T1"), .note("X")] && found.missing.isEmpty)
    #expect(try await pair.a.store.count(RecordQuery<Note>(), policy: .remote) == 2)
    #expect(pair.a.store.estimatedReachability.isReachable == true)
  }

  @Test("A result that isn't stored changes nothing here")
  func withoutCopy() async throws {
    let pair = try await Pair.sharing()
    try pair.b.insert("X", "theirs")
    await pair.b.store.sync()
    let query = RecordQuery<Note>()
    let seen = try await pair.a.store.fetchResult(query, policy: .remote, storesResults: false)
    #expect(seen.records.map(\.id) == ["T1", "X"])
    #expect(try pair.a.noteIDs() == ["T1"])
    #expect(try await pair.a.store.searchServer(query).records.count == 2)
  }

  @Test("Each record of a batch has a result of its own")
  func batch() async throws {
    let pair = try await Pair.sharing()
    let results = try await pair.a.store.saveEach(
      [AnyRecord("Note", id: "X", ["title": "new"])], deleting: [.note("T1")])
    #expect(results.map(\.record) == [.note("X"), .note("T1")])
    for result in results { _ = try result.result.get() }
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["X"])
  }
}
