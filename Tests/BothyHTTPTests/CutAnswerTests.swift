import BothyHTTP
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Testing

/// Responses whose end did not arrive.
@Suite("Responses that are cut off", .timeLimit(.minutes(5)))
struct CutAnswerTests {
  /// A transport that delivers only the beginning of each body, if it is told how much.
  private struct Cutting: HTTPTransport {
    let transport: ServiceTransport
    let kept = Locked<Double?>(nil)

    func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
      var response = try await transport.send(request)
      if let kept = kept.value {
        response.body = Array(response.body.prefix(Int(kept * Double(max(0, response.body.count - 2)))))
      }
      return response
    }

    func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
      try await transport.open(request)
    }
  }

  private func store(_ transport: any HTTPTransport) throws -> SyncedStore {
    let remote = BothyRemote(
      url: "https://example.org", space: "hut", transport: transport, token: { "good" })
    let schema = StoreSchema(types: [TypeSchema("Todo", fields: [FieldSchema("title", .text)])])
    return try SyncedStore(at: nil, schema: schema, remote: remote, configuration: .quiet)
  }

  /// Promises: H-20
  @Test("A snapshot that breaks off removes nothing, and the whole one does")
  func snapshot() async throws {
    let storage = try SQLiteServerStorage()
    let transport = ServiceTransport(
      SyncService(storage: storage, now: { 1_767_225_600_000 }), users: ["good": "ann"])
    let network = Cutting(transport: transport)
    let (other, store) = (try store(transport), try store(network))
    let ids = (100..<200).map { "T\($0)" }
    for id in ids { try await other.save(AnyRecord("Todo", id: id, ["title": "x"]), options: .local) }
    await other.sync()
    await store.sync()
    func held() throws -> [String] { try store.store.fetch(AnyQuery("Todo")).map(\.id).sorted() }
    #expect(try held() == ids)
    for id in ids { try await other.delete(RecordID(type: "Todo", id: id), options: .local) }
    await other.sync()
    try await storage.compact(space: "hut", upTo: storage.statistics(of: "hut").head)
    try await store.save(AnyRecord("Todo", id: "mine", ["title": "pending"]), options: .local)
    let validator = try #require(try store.validator(for: "Todo"))
    for kept in [0, 0.3, 0.6, 0.9, 1] {
      network.kept.value = kept
      #expect(await store.sync(.pull).obstacle != nil, "\(kept) of the body")
      #expect(try held() == ids + ["mine"], "\(kept) of the body")
      #expect(try store.validator(for: "Todo") == validator, "\(kept) of the body")
    }
    network.kept.value = nil
    #expect(await store.sync(.pull).obstacle == nil)
    #expect(try held() == ["mine"])
  }
}

extension RequestOptions {
  fileprivate static var local: RequestOptions { RequestOptions(writePolicy: .local) }
}
