import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import HTTPTypes
import Testing

@Suite("The list of metrics", .timeLimit(.minutes(5)))
struct MetricListTests {
  @Test("Every listed metric is printed with its kind and text, and no other")
  func list() async throws {
    let folder = try TileFolderUnderTest()
    let path = folder.path + "/server.sqlite"
    let storage = try SQLiteServerStorage(at: path)
    let world = try await SpaceWorld(storage: storage)
    var server = world.server
    server.configuration.rules.writeRule = RuleUnderTest { _ in .accept }
    server.configuration.files = StorageFiles(database: path, blobs: folder.path + "/blobs")
    server.configuration.traces = TraceExporter(
      endpoint: "http://localhost:4318", logger: server.configuration.logger,
      send: { _ in OutboundResponse(status: 200) })
    try await server.run { call async throws in
      let ann = call.with(token: "service")
      let bob = try await call.with(token: world.token("bob"))
      #expect(try await bob(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(try await ann(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#).status == 201)
      #expect(try await ann(.post, "/v1/spaces/hut/query", #"{"type":"T"}"#).status == 200)
      #expect(try await call(.get, "/v1/spaces/hut/changes").status == 401)
      let text = try await call(.get, "/metrics").text
      let lines = text.split(separator: "\n")
      let types = lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.dropFirst(7)) }
      #expect(Set(types) == Set(ServerMetric.all.map { "\($0.name) \($0.kind.rawValue)" }))
      for metric in ServerMetric.all {
        #expect(lines.contains("# HELP \(metric.name) \(metric.about)"))
        let sample = lines.first { $0.hasPrefix(metric.name) }
        for label in metric.labels { #expect(sample?.contains("\(label)=\"") == true, "\(metric.name)") }
      }
      for place in ["database", "blobs"] {
        let free = lines.first { $0.hasPrefix(#"bothy_disk_free_bytes{of="\#(place)"} "#) }
        #expect(free?.hasSuffix(" 0") == false, "\(place)")
      }
      let size = lines.first { $0.hasPrefix(#"bothy_database_bytes{file="data"} "#) }
      #expect(size?.hasSuffix(" 0") == false)
      #expect(text.contains("bothy_upkeep_age_seconds 0\n"))
      #expect(text.contains(#"bothy_storage_transactions_running{kind="search"} 0"#))
    }
    try storage.close()
  }

  @Test("The age of the upkeep begins with the last look that succeeded")
  func upkeep() async throws {
    let time = Locked<Int64>(1000)
    var server = try ServerUnderTest()
    server.configuration.now = { time.value }
    let noted = Locked<[Int64]>([])
    let service = SyncService(storage: server.configuration.storage, now: { time.value })
    let rounds = UpkeepRounds(
      { service }, server.configuration, metrics: MetricsRegistry(), pace: UpkeepPace(interval: 1000),
      looked: { at in noted.change { $0.append(at) } })
    try await rounds.work()
    #expect(noted.value == [1000])
    try await server.run { call async throws in
      time.value = 61_000
      #expect(try await call(.get, "/metrics").text.contains("bothy_upkeep_age_seconds 60\n"))
    }
  }
}
