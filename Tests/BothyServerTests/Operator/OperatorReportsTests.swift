import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

@Suite("Reports for operators", .timeLimit(.minutes(5)))
struct OperatorReportsTests {
  /// A storage with spaces, and the reports about it.
  private struct Estate {
    let storage: any ServerReports & FeedStorage
    let clock = Locked<Int64>(1_000_000)
    let reports: OperatorReports
    let service: SyncService

    init(_ storage: any ServerReports & FeedStorage) {
      let clock = clock
      self.storage = storage
      service = SyncService(storage: storage, now: { clock.value })
      reports = OperatorReports(
        database: OperatorReports.Database(
          name: "it's.sqlite", storage: storage, blobs: nil, files: StorageFiles(), patience: .seconds(60),
          now: { clock.value }),
        watch: ServerWatch([], now: { clock.value }) { _ in ServerWatch.Response(status: 500, body: []) },
        now: { clock.value })
    }

    func write(_ space: String, _ count: Int = 1, by user: String = "ann", secret: String = "x") async throws
    {
      for number in 0..<count {
        let operation = SyncOperation(
          id: UUIDv7.make(), kind: .insert, record: RecordID(type: "Todo", id: "\(user)\(number)"), base: nil,
          fields: ["title": .string(secret)])
        _ = try await service.perform(space: space, user: Caller(user), operation)
        clock.change { $0 += 1000 }
      }
    }

    func document(_ name: String, _ parameters: [String: String] = [:]) async throws -> JSONValue {
      try JSONValue(parsing: try #require(try await reports.document(name, parameters)))
    }

    func names(_ parameters: [String: String]) async throws -> [String] {
      try await document("spaces", parameters)["spaces"]?.arrayValue?.compactMap { $0["space"]?.stringValue }
        ?? []
    }

    /// Returns the names of all pages.
    func allNames(_ parameters: [String: String]) async throws -> [String] {
      var found: [String] = []
      var next: [String: String] = [:]
      for _ in 0..<100 {
        let page = try await document("spaces", parameters.merging(next) { $1 })
        found += page["spaces"]?.arrayValue?.compactMap { $0["space"]?.stringValue } ?? []
        guard let after = page["next"]?["after"]?.stringValue, let number = page["next"]?["number"]?.intValue
        else { break }
        next = ["after": after, "number": "\(number)"]
      }
      return found
    }
  }

  private static func estate() throws -> Estate { Estate(try SQLiteServerStorage()) }

  private static func fill(_ estate: Estate) async throws {
    for number in 0..<7 { try await estate.write("s\(number)", number % 3 + 1) }
    try await estate.write("Team", 5)
  }

  private static func checkPages(_ estate: Estate) async throws {
    try await fill(estate)
    #expect(
      try await estate.allNames(["limit": "2"]) == ["Team", "s0", "s1", "s2", "s3", "s4", "s5", "s6"])
    let byChanges = ["Team", "s2", "s5", "s1", "s4", "s0", "s3", "s6"]
    #expect(try await estate.allNames(["limit": "3", "order": "head"]) == byChanges)
    let byUpkeep = try await estate.allNames(["limit": "3", "order": "due"])
    #expect(byUpkeep == ["Team", "s0", "s1", "s2", "s3", "s4", "s5", "s6"], "all are new")
    #expect(try await estate.names(["part": "ea"]) == ["Team"])
    for part in ["%", "team"] { #expect(try await estate.names(["part": part]) == []) }
    let page = try await estate.document("spaces", ["limit": "1", "part": "s2"])
    let space = try #require(page["spaces"]?.arrayValue?.first)
    #expect(space["head"] == 3 && space["records"] == 3 && space["devices"] == 0 && space["due"] == 0)
    #expect(page["total"] == 8 && page["next"] == .null)
    #expect(space["lastWrite"]?.intValue.map { $0 >= 1_000_000 } == true)
  }

  @Test("Spaces are paged in three orders, and found by a part of their name")
  func pages() async throws { try await Self.checkPages(Self.estate()) }

  @Test(
    "Spaces on PostgreSQL are paged and found alike",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func pagesOnPostgres() async throws {
    try await PostgresUnderTest.with { try await Self.checkPages(Estate($0)) }
  }

  private static func checkSpace(_ estate: Estate) async throws {
    try await estate.write("hut", 2)
    try await estate.write("hut", 1, by: "bob")
    var pull = SyncRequest(device: "phone")
    pull.pulls = [.init(.everything)]
    let first = try await estate.service.sync(space: "hut", user: Caller("ann"), pull)
    pull.pulls = [.init(.everything, cursor: first.pages[0].cursor)]
    #expect(try await estate.service.acknowledge(space: "hut", pull))
    let last = estate.clock.value
    try await estate.write("hut", 3, by: "cid")
    pull.device = "tablet"
    pull.pulls = [.init(.everything)]
    let second = try await estate.service.sync(space: "hut", user: Caller("ann"), pull)
    pull.pulls = [.init(.everything, cursor: second.pages[0].cursor)]
    #expect(try await estate.service.acknowledge(space: "hut", pull))
    let json = try await estate.document("space", ["name": "hut"])
    let devices = json["deviceLines"]?.arrayValue ?? []
    #expect(devices.map { $0["device"] } == ["phone", "tablet"], "the one that is behind comes first")
    #expect(devices.map { $0["behind"] } == [3, 0])
    #expect(devices[0]["behindSince"]?.intValue == last && devices[1]["behindSince"] == .null)
    #expect(json["principals"]?.arrayValue?.map { $0["records"] } == [3, 2, 1])
    #expect(json["containerLines"]?.arrayValue?.first?["records"] == 6)
    #expect(json["rejections"] == [] && json["webhooks"] == [])
    let page = try await estate.document("space", ["name": "hut", "limit": "1"])
    #expect(page["deviceLines"]?.arrayValue?.count == 1)
    let rest = try await estate.document(
      "space",
      [
        "name": "hut", "limit": "1", "after": page["next"]?["after"]?.stringValue ?? "",
        "number": "\(page["next"]?["number"]?.intValue ?? 0)",
      ])
    #expect(rest["deviceLines"]?.arrayValue?.first?["device"] == "tablet" && rest["next"] == .null)
  }

  @Test("A space has its devices with their lag, its users and its containers")
  func space() async throws { try await Self.checkSpace(Self.estate()) }

  @Test(
    "A space on PostgreSQL has its devices, users and containers alike",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func spaceOnPostgres() async throws {
    try await PostgresUnderTest.with { try await Self.checkSpace(Estate($0)) }
  }

  private static func checkRejections(_ estate: Estate) async throws {
    try await estate.write("hut")
    let bad = SyncOperation(
      id: UUIDv7.make(), kind: .insert, record: RecordID(type: "Todo", id: "bad"), base: nil,
      fields: ["title": .string(#"says "rejected" itself"#)])
    let strict = SyncService(
      storage: estate.storage, rules: AccessRules(schema: try requiringSchema()), now: { estate.clock.value })
    var good = bad
    good.id = UUIDv7.make()
    let request = SyncRequest(device: "phone", operations: [bad])
    _ = try await strict.sync(space: "hut", user: Caller("ann"), request)
    _ = try await estate.service.sync(
      space: "hut", user: Caller("ann"), SyncRequest(device: "phone", operations: [good]))
    let json = try await estate.document("space", ["name": "hut"])
    let rejections = json["rejections"]?.arrayValue ?? []
    #expect(rejections.map { $0["count"] } == [1], "a record with this word is no rejection")
    #expect(json["outcomesRead"] == 2)
  }

  private static func requiringSchema() throws -> StoreSchema {
    try StoreSchema(
      json: #"{"version":1,"types":[{"name":"Todo","fields":[{"name":"due","type":"date"}]}]}"#)
  }

  @Test("Rejected changes of a space are counted by their reason")
  func rejections() async throws { try await Self.checkRejections(Self.estate()) }

  @Test(
    "Rejected changes on PostgreSQL are counted alike",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func rejectionsOnPostgres() async throws {
    try await PostgresUnderTest.with { try await Self.checkRejections(Estate($0)) }
  }

  private static func checkWebhooks(_ estate: Estate) async throws {
    for space in ["hut", "team", "other"] { try await estate.write(space, 2) }
    let epoch = try #require(try await estate.storage.state(of: "billing", in: "hut")).head.head.epoch
    try await estate.storage.place("billing", in: "hut", at: FeedPosition(epoch: epoch, position: 1))
    let head = try #require(try await estate.storage.state(of: "billing", in: "team")).head.head
    try await estate.storage.place("billing", in: "team", at: head)
    let json = try await estate.document("webhooks")
    let hook = try #require(json["webhooks"]?.arrayValue?.first)
    #expect(hook["spaces"] == 2 && hook["behind"] == 1 && hook["failing"] == 0 && hook["untouched"] == 1)
    let worst = try #require(hook["worst"]?.arrayValue)
    #expect(worst.map { $0["space"] } == ["hut"] && worst[0]["behind"] == 1)
    #expect(
      worst[0]["skip"]?.stringValue
        == #"bothy admin webhooks skip --database 'it'\''s.sqlite' billing hut"#)
    let space = try await estate.document("space", ["name": "other"])
    #expect(space["webhooks"]?.arrayValue?.first?["behind"] == 2)
    let overview = try await estate.document("overview")
    #expect(overview["webhooks"]?.arrayValue?.first?["behind"] == 1 && overview["spaces"] == 3)
  }

  @Test("Webhooks are summed up, with the spaces that are behind and their commands")
  func webhooks() async throws { try await Self.checkWebhooks(Self.estate()) }

  @Test(
    "Webhooks on PostgreSQL are summed up alike",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func webhooksOnPostgres() async throws {
    try await PostgresUnderTest.with { try await Self.checkWebhooks(Estate($0)) }
  }

  @Test("Upkeep lists the spaces that are due, and then those that will be")
  func upkeep() async throws {
    let estate = try Self.estate()
    for space in ["a", "b"] { try await estate.write(space) }
    var json = try await estate.document("upkeep")
    #expect(json["due"] == 2 && json["spaces"]?.arrayValue?.map { $0["isDue"] } == [true, true])
    _ = try await estate.service.upkeep(space: "a", RetentionPolicy())
    try await estate.write("a", 1, by: "bob")
    json = try await estate.document("upkeep")
    #expect(json["due"] == 1)
    #expect(json["spaces"]?.arrayValue?.map { $0["space"] } == ["b", "a"])
    #expect(json["spaces"]?.arrayValue?.map { $0["isDue"] } == [true, false])
    #expect(try await estate.document("overview")["dueSince"] == .null, "a new space has waited for nothing")
    estate.clock.change { $0 += 2 * RetentionPolicy.hour }
    let since = try await estate.document("overview")["dueSince"]?.intValue
    #expect(since.map { $0 > 0 && $0 <= estate.clock.value } == true)
  }

  @Test("An accent behind a quotation mark leaves a name one word of a command")
  func accentBehindQuote() async throws {
    let estate = try Self.estate()
    try await estate.write("x'\u{301}; reboot; '")
    let space = try await estate.document("upkeep")["spaces"]?.arrayValue?.first
    let expected = #"bothy admin compact --database 'it'\''s.sqlite' 'x'\''\#u{301}; reboot; '\'''"#
    #expect(space?["command"]?.stringValue == expected)
  }

  /// Promises: A-36
  @Test("No document has content of records")
  func secrecy() async throws {
    let estate = try Self.estate()
    try await estate.write("hut", 3, secret: "the-secret-title")
    for name in OperatorReports.names {
      let bytes = try #require(try await estate.reports.document(name, ["name": "hut"]))
      #expect(!String(decoding: bytes, as: UTF8.self).contains("the-secret-title"), "\(name)")
    }
  }

  @Test("Without a database and without servers every document says so")
  func empty() async throws {
    let reports = OperatorReports(
      database: nil,
      watch: ServerWatch([], now: { 5 }) { _ in ServerWatch.Response(status: 500, body: []) }, now: { 5 })
    for name in OperatorReports.names where name != "space" {
      let json = try JSONValue(parsing: try #require(try await reports.document(name, [:])))
      #expect(json["now"] == 5 && json["database"] == .null, "\(name)")
      for list in ["spaces", "servers", "webhooks"] where json[list]?.arrayValue != nil {
        #expect(json[list] == [], "\(name)")
      }
    }
    await #expect(throws: BothyError.self) { _ = try await reports.document("space", ["name": "hut"]) }
    #expect(try await reports.document("nothing", [:]) == nil)
  }
}
