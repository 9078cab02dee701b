import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import BothyTesting
import HTTPTypes
import Synchronization
import Testing

@Suite("A real Kinto server", .enabled(if: RealKinto.url != nil), .timeLimit(.minutes(10)))
struct KintoServerTests {
  private let space = RealKinto.newSpace()

  private func devices(_ policy: MergePolicy) throws -> (KintoDevice, KintoDevice) {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    return (try KintoDevice("a", in: space, configuration), try KintoDevice("b", in: space, configuration))
  }

  private func settle(_ devices: KintoDevice...) async throws {
    for device in devices + devices {
      let report = await device.store.sync()
      #expect(report.obstacle == nil)
      #expect(report.rejected.isEmpty)
    }
    for device in devices { #expect(try await device.problems() == []) }
  }

  /// Promises: N-11
  @Test("Two devices exchange inserts, edits and deletions, and a third receives all")
  func exchange() async throws {
    let (a, b) = try devices(.remoteWins)
    for number in 0..<60 { try a.insert(Card(id: "c\(number)", "card \(number)")) }
    let report = await a.store.sync()
    #expect(report.pushed == 60)
    #expect(report.pulled == 0, "own work does not come back")
    #expect(await b.store.sync().pulled == 60)
    try b.update("c1") { $0.title = "from b" }
    try b.delete("c2")
    try await settle(b, a)
    #expect(try a.card("c1")?.title == "from b")
    #expect(try a.card("c2") == nil)
    try a.update("c1") { $0.own[0] = nil }
    try a.update("c3") { $0.own[0] = 7 }
    try await settle(a, b)
    try b.update("c3") { $0.own[0] = nil }
    try await settle(b, a)
    #expect(try a.card("c3")?.own == [nil, nil, nil])
    let third = try KintoDevice("c", in: space)
    try await settle(third)
    #expect(try third.cards().count == 59)
    let again = await third.store.sync()
    #expect(again.pushed == 0 && again.pulled == 0 && again.requests == 1)
  }

  /// Promises: H-67
  @Test("Offline edits of different fields are both kept under fieldMerge on all devices")
  func merge() async throws {
    let (a, b) = try devices(.fieldByField)
    try a.insert(Card(id: "c", "one"))
    try await settle(a, b)
    try a.update("c") {
      $0.own[0] = 1
      $0.score += 2
    }
    try b.update("c") {
      $0.own[1] = 2
      $0.score += 3
    }
    try await settle(a, b)
    for device in [a, b] {
      #expect(try device.card("c")?.own == [1, 2, nil])
      #expect(try device.card("c")?.score == 5)
    }
  }

  @Test("The server's version wins by default, and the replaced content is reported")
  func serverWins() async throws {
    let (a, b) = try devices(.remoteWins)
    try a.insert(Card(id: "c", "one"))
    try await settle(a, b)
    try a.update("c") { $0.title = "a" }
    try b.update("c") { $0.title = "b" }
    _ = await a.store.sync()
    let report = await b.store.sync()
    #expect(report.overwritten.map(\.record.id) == ["c"])
    try await settle(a, b)
    #expect(try b.card("c")?.title == "a")
  }

  @Test("An edit conflicts with a deletion in both orders, and two deletions agree")
  func deletions() async throws {
    let (a, b) = try devices(.localWins)
    for id in ["x", "y", "z"] { try a.insert(Card(id: id, "one")) }
    try await settle(a, b)
    try a.delete("x")
    try b.update("x") { $0.title = "kept" }
    try a.update("y") { $0.title = "edited" }
    try b.delete("y")
    try a.delete("z")
    try b.delete("z")
    try await settle(a, b)
    #expect(try a.card("x")?.title == "kept")
    #expect(try a.card("y") == nil)
    #expect(try a.card("z") == nil)
    try a.insert(Card(id: "z", "again"))
    try await settle(a, b)
    #expect(try b.card("z")?.title == "again")
  }

  /// Promises: H-30, H-31, H-32
  @Test(
    "A push with a lost response is recognised when it is repeated"
  )
  func lostAnswers() async throws {
    let (a, b) = try devices(.localWins)
    func losingAnswers(_ body: () async throws -> Void) async throws {
      a.network.setScript { $0.method == .get ? .none : .lostAnswer }
      try await body()
      a.network.setScript { _ in .none }
      try a.restart()
    }
    _ = await a.store.sync()
    try a.insert(Card(id: "c", "one"))
    try a.insert(Card(id: "d", "two"))
    try await losingAnswers { #expect(await a.store.sync().obstacle != nil) }
    try await settle(a, b)
    #expect(try b.cards().count == 2)
    // The write is applied, but not acknowledged, and the other device edits it.
    try a.update("c") {
      $0.title = "a"
      $0.score += 1
    }
    try await losingAnswers { #expect(await a.store.sync().obstacle != nil) }
    _ = await b.store.sync()
    #expect(try b.card("c")?.title == "a")
    try b.update("c") {
      $0.title = "b"
      $0.score += 1
    }
    try await settle(b, a)
    #expect(try a.card("c")?.title == "b")
    #expect(try a.card("c")?.score == 2)
    // The deletion is applied, but not acknowledged.
    try a.delete("d")
    try await losingAnswers { #expect(await a.store.sync().obstacle != nil) }
    try await settle(a, b)
    #expect(try b.card("d") == nil)
  }

  /// Promises: H-31
  @Test(
    "A repeated push with further edits keeps the changes of other devices")
  func editedOnBothSides() async throws {
    let (a, b) = try devices(.fieldByField)
    try a.insert(Card(id: "c", "one"))
    try await settle(a, b)
    try a.update("c") {
      $0.own[0] = 1
      $0.score += 1
    }
    a.network.setScript { $0.method == .get ? .none : .lostAnswer }
    #expect(await a.store.sync().obstacle != nil)
    a.network.setScript { _ in .none }
    _ = await b.store.sync()
    try b.update("c") {
      $0.own[1] = 2
      $0.score += 1
    }
    _ = await b.store.sync()
    try a.update("c") {
      $0.own[2] = 3
      $0.score += 1
    }
    try await settle(a, b)
    for device in [a, b] {
      #expect(try device.card("c")?.own == [1, 2, 3])
      #expect(try device.card("c")?.score == 3)
    }
  }

  /// Promises: H-64
  @Test(
    "Records of every id are written, read, changed and deleted",
    arguments: [["x:nil", "a/b", "q?x=1&y", "Æ ø", "-_", "🏔"]])
  func ids(_ ids: [String]) async throws {
    let (a, b) = try devices(.remoteWins)
    for id in ids { try a.insert(Card(id: id, id)) }
    try await settle(a, b)
    #expect(try Set(b.cards().map(\.id)) == Set(ids))
    for id in ids { try b.update(id) { $0.score += 1 } }
    try await settle(b, a)
    #expect(try a.cards().allSatisfy { $0.score == 1 && $0.title == $0.id })
    let options = RequestOptions(readPolicy: .remote)
    for id in ids { #expect(try await a.store.fetch(Card.self, id: id, options: options)?.title == id) }
    for id in ids { try a.delete(id) }
    try await settle(a, b)
    #expect(try b.cards().isEmpty)
  }

  @Test(
    "A server without data is refused until adopted, then pending records are sent",
    arguments: [MergePolicy.remoteWins, .localWins])
  func flushed(policy: MergePolicy) async throws {
    let (a, b) = try devices(policy)
    for number in 0..<5 { try a.insert(Card(id: "c\(number)", "one")) }
    try await settle(a, b)
    try b.insert(Card(id: "new", "made offline"))
    try b.update("c1") { $0.title = "edited offline" }
    let url = try #require(RealKinto.url) + "/v1/buckets/" + KintoName.encode(space)
    let gone = try await platformTransport().send(
      TransportRequest(.delete, url, headers: [.authorization: "Basic dGVzdGVyOnNlY3JldA=="]))
    #expect(gone.status == 200)
    #expect(await b.store.sync().stop?.name == "otherServer")
    #expect(try b.cards().count == 6)
    let report = try await b.store.maintenance.adoptServer()
    #expect(Set(report.lost.map(\.id)) == ["c0", "c1", "c2", "c3", "c4"])
    #expect(report.overwritten.isEmpty)
    try await a.store.maintenance.adoptServer()
    try await settle(b, a)
    #expect(try Set(a.cards().map(\.id)) == ["new", "c1"])
    #expect(try a.card("c1")?.title == "edited offline")
  }

  @Test("Queries, counts and orders have equal results on server and device")
  func queries() async throws {
    let a = try KintoDevice("a", in: space)
    for number in 0..<40 {
      var card = Card(id: "c\(number)", ["Milk", "milk", "Rice \"x\"", "1", "true"][number % 5])
      card.score = number % 7
      if number % 3 == 0 { card.own[0] = number }
      try a.insert(card)
    }
    try await settle(a)
    let conditions: [ConditionTree] = [
      .all, .compare(field: "title", .equal, .text("milk")), .compare(field: "title", .equal, .text("1")),
      .compare(field: "title", .equal, .text("true")), .compare(field: "title", .equal, .text("Rice \"x\"")),
      .compare(field: "score", .equal, .int(3)), .compare(field: "score", .greater, .int(3)),
      .compare(field: "a", .equal, .null), .compare(field: "a", .less, .int(20)),
      .and([.compare(field: "title", .equal, .text("Milk")), .compare(field: "score", .notEqual, .int(0))]),
      .or([.compare(field: "score", .equal, .int(1)), .contains(field: "title", "ICE", ignoringCase: true)]),
      .oneOf(field: "id", [.text("c1"), .text("c2"), .text("nothing")]),
    ]
    for condition in conditions {
      let query = AnyQuery("Card", where: condition, order: [SortKey("score", ascending: false)])
      let here = try await a.store.store.fetch(query).map(\.id)
      #expect(try await a.remote.query(query).map(\.id.id) == here, "\(condition)")
      #expect(try await a.remote.count(query) == here.count, "\(condition)")
      var page = query
      page.limit = 3
      page.offset = 2
      #expect(try await a.remote.query(page).map(\.id.id) == Array(here.dropFirst(2).prefix(3)))
    }
  }

  @Test("A wrong password is unauthenticated or forbidden, and pending changes stay")
  func wrongUser() async throws {
    let (a, _) = try devices(.remoteWins)
    try a.insert(Card(id: "c", "one"))
    try await settle(a)
    let stranger = KintoRemote(
      url: try #require(RealKinto.url), space: space, transport: platformTransport(),
      credentials: .basic(user: "stranger", password: "x"))
    let error = await #expect(throws: RemoteError.self) {
      try await stranger.exchange(SyncRequest(device: "s", pulls: [.init(.everything)]))
    }
    #expect(error?.errorClass == .forbidden)
    let insert = SyncOperation(id: "o", kind: .insert, record: RecordID(type: "Card", id: "s"))
    let refused = try await stranger.exchange(SyncRequest(device: "s", operations: [insert]))
    guard case .rejected(let rejection) = refused.outcomes[0].verdict else {
      Issue.record("\(refused)")
      return
    }
    #expect(rejection.code == "forbidden")
    #expect(try await a.remote.count(AnyQuery("Card")) == 1)
  }
}
