import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Complete snapshots of which a part does not arrive, over records that are here.
@Suite("Incomplete snapshots", .faultsStrike, .timeLimit(.minutes(5)))
struct IncompleteSnapshotTests {
  private let ids = (100..<130).map { "T\($0)" }

  /// Returns a pair on which B has deleted the first `count` notes, so that the server sends A a complete snapshot. A
  /// has a new note that isn't sent.
  private func pair(without count: Int) async throws -> Pair {
    let pair = try await Pair.sharing(ids) { $0.pageSize = 10 }
    for id in ids.prefix(count) { try pair.b.remove(id) }
    await pair.b.store.sync()
    let head = try await pair.world.storage.statistics(of: "test").head
    try await pair.world.storage.compact(space: "test", upTo: head)
    try pair.a.insert("mine", "pending")
    return pair
  }

  /// Promises: H-20
  @Test("A snapshot whose last page is lost removes nothing, and a complete one does")
  func lostPage() async throws {
    let pair = try await pair(without: 15)
    let validator = try #require(try pair.a.store.validator(for: "Note"))
    pair.a.loseConnection(after: 1)
    #expect(await pair.a.store.sync(.pull).obstacle != nil)
    #expect(pair.a.remote.requests.count > 1)
    #expect(try pair.a.noteIDs() == ids + ["mine"])
    #expect(try pair.a.store.validator(for: "Note") == validator)
    pair.a.remote.setScript { .none }
    #expect(await pair.a.store.sync(.pull).obstacle == nil)
    #expect(try pair.a.noteIDs() == ids.dropFirst(15) + ["mine"])
    #expect(try await pair.isEven())
  }

  /// Promises: H-20
  @Test("An empty page with more to come removes nothing, and an empty snapshot does")
  func emptyPage() async throws {
    let pair = try await pair(without: ids.count)
    try pair.a.store.store.close()
    let (isCut, calls) = (Locked(true), Calls())
    let remote = RewritingRemote(InProcessRemote(pair.world.service)) {
      request, server throws(RemoteError) in
      var response = try await server.exchange(request)
      guard isCut.value else { return response }
      if calls.add() > 1 { throw FaultyRemote.unreachable }
      #expect(response.pages.map(\.reset) == [true] && response.pages.map(\.changes) == [[]])
      for index in response.pages.indices { response.pages[index].more = true }
      return response
    }
    let store = try SyncedStore(at: pair.a.path, schema: .notes, remote: remote, configuration: .quiet)
    func held() throws -> [String] { try store.store.fetch(RecordQuery<Note>()).map(\.id).sorted() }
    let validator = try #require(try store.validator(for: "Note"))
    #expect(await store.sync(.pull).obstacle != nil)
    #expect(calls.count > 1)
    #expect(try held() == ids + ["mine"])
    #expect(try store.validator(for: "Note") == validator)
    isCut.value = false
    #expect(await store.sync(.pull).obstacle == nil)
    #expect(try held() == ["mine"])
    #expect(await store.sync().pushed == 1)
    try store.store.close()
  }
}
