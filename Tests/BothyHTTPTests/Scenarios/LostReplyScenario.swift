import BothyHTTP
import BothyStore
import BothySync
import BothyTesting
import Testing

/// Tests of a server that commits and of replies that end too early, over real connections.
@Suite("Lost acknowledgements over HTTP", .timeLimit(.minutes(15)))
struct LostReplyScenario {
  private static let schema = StoreSchema(
    version: 1, types: [TypeSchema("Item", fields: [.field("n", Int.self, default: 0, merge: .counter)])])

  /// Promises: Scenario-2, H-30, H-31
  @Test(
    "A reply that ends after any byte is requested again without a repeated effect"
  )
  func everyByte() async throws {
    try await RunningServer.run { server in
      let port = try #require(server.url.split(separator: ":").last.flatMap { Int($0) })
      try await CuttingProxy.run(to: port) { proxy in
        let remote = BothyRemote(
          url: proxy.url, space: "hut", transport: platformTransport(compression: false),
          timeout: .seconds(100))
        var configuration = SyncOptions.quiet
        configuration.merging = MergePolicies(default: .fieldByField)
        let store = try SyncedStore(
          at: nil, schema: Self.schema, remote: remote, configuration: configuration)
        try await store.store.write { try $0.insert(AnyRecord("Item", id: "counter", ["n": 0])) }
        try await store.syncCompletely()
        let cuts = try await Self.cutEverywhere(store, proxy)
        #expect(cuts > 200, "a reply has that many bytes")
        let digest = try await server.remote().digest(.everything)
        #expect(digest.count == cuts + 2)
        #expect(try digest.digest == store.digest().digest)
        let counter = try await server.remote().query(AnyQuery("Item")).first { $0.id.id == "counter" }
        #expect(try counter?.fields.members()["n"] == .int(Int64(cuts + 1)))
      }
    }
  }

  /// Increments a count and inserts one record for each byte of a reply, and cuts the reply from that byte on.
  ///
  /// Returns the number of cut replies. The last one was passed whole.
  private static func cutEverywhere(_ store: SyncedStore, _ proxy: CuttingProxy) async throws -> Int {
    var cuts = 0
    while true {
      try await store.store.write { transaction in
        guard case .int(let n)? = try transaction.record(RecordID(type: "Item", id: "counter"))?["n"] else {
          return
        }
        try transaction.update(RecordID(type: "Item", id: "counter"), fields: ["n": .int(n + 1)])
        try transaction.insert(AnyRecord("Item", id: "i\(n)", ["n": 1]))
      }
      proxy.cut(after: cuts)
      let report = await store.sync()
      if proxy.withheld == 0 {
        #expect(report.obstacle == nil)
        return cuts
      }
      #expect(report.stop?.name == "unreachable", "cut after \(cuts) bytes")
      #expect(try store.pendingCounts().total == 2, "cut after \(cuts) bytes")
      try await store.syncCompletely()
      cuts += 1
    }
  }
}
