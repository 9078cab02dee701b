import BothyHTTP
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// Tests of networks that respond instead of the server.
@Suite("Sign-in pages instead of the server's response", .timeLimit(.minutes(5)))
struct PortalTests {
  static let portals: [TransportResponse] = [
    TransportResponse(status: 200, headers: [.contentType: "text/html"], body: Array("<html>Sign in".utf8)),
    TransportResponse(status: 200, headers: [.contentType: "application/json"], body: Array("{}".utf8)),
    TransportResponse(
      status: 200, headers: [.contentType: "application/json"],
      body: Array(#"{"captive":true,"user-portal-url":"https://portal"}"#.utf8)),
    TransportResponse(status: 302, headers: [.location: "https://portal"]), TransportResponse(status: 307),
    TransportResponse(status: 511),
    TransportResponse(status: 401, headers: [.contentType: "text/html"], body: Array("<html>Sign in".utf8)),
    TransportResponse(status: 403, headers: [.contentType: "text/html; charset=utf-8"], body: []),
    TransportResponse(status: 404, headers: [.contentType: "text/html"], body: Array("Sign in".utf8)),
  ]

  private func parts() async throws -> (ServiceTransport, SyncedStore) {
    let transport = ServiceTransport(
      SyncService(storage: try SQLiteServerStorage(), now: { 1_767_225_600_000 }), users: ["good": "ann"]
    )
    let remote = BothyRemote(
      url: "https://example.org", space: "hut", transport: transport, token: { "good" })
    let schema = StoreSchema(types: [TypeSchema("Todo", fields: [FieldSchema("title", .text)])])
    let store = try SyncedStore(at: nil, schema: schema, remote: remote, configuration: .quiet)
    for number in 0..<3 { try await store.save(AnyRecord("Todo", id: "T\(number)", ["title": "x"])) }
    await store.sync()
    return (transport, store)
  }

  @Test("A sync reports that the network requires a sign-in, and keeps pending changes", arguments: portals)
  func sync(portal: TransportResponse) async throws {
    let (transport, store) = try await parts()
    try await store.save(AnyRecord("Todo", id: "T9", ["title": "mine"]))
    transport.setScript { _ in portal }
    #expect(await store.sync().stop?.name == "unreachable")
    #expect(try store.outboxEntries().count == 1)
    transport.setScript { _ in nil }
    #expect(await store.sync().obstacle == nil)
    #expect(try store.outboxEntries().isEmpty)
  }

  @Test("A read falls back to the file, and removes nothing", arguments: portals)
  func read(portal: TransportResponse) async throws {
    let (transport, store) = try await parts()
    transport.setScript { _ in portal }
    for policy in [ReadPolicy.remoteElseLocal, .localElseRemote] {
      let found = try await store.fetchResult(AnyQuery("Todo"), options: RequestOptions(readPolicy: policy))
      #expect(found.records.count == 3)
      #expect(found.origin == .local)
    }
    await #expect(throws: BothyError.self) {
      _ = try await store.fetchResult(AnyQuery("Todo"), options: RequestOptions(readPolicy: .remote))
    }
    let kept = try await store.store.read { try $0.fetch(AnyQuery("Todo")) }
    #expect(kept.count == 3)
  }

  @Test("The response to another query is rejected")
  func otherQuestion() async throws {
    let (transport, store) = try await parts()
    let body = Array(#"{"records":[{"type":"Other","id":"o","version":"1","fields":{}}]}"#.utf8)
    transport.setScript { _ in TransportResponse(status: 200, body: body) }
    let found = try await store.fetchResult(
      AnyQuery("Todo"), options: RequestOptions(readPolicy: .remoteElseLocal))
    #expect(found.records.count == 3)
  }

  @Test("An online save stays pending behind a sign-in page", arguments: portals)
  func save(portal: TransportResponse) async throws {
    let (transport, store) = try await parts()
    transport.setScript { _ in portal }
    let receipt = try await store.save(
      AnyRecord("Todo", id: "T9", ["title": "mine"]), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(receipt.known == .pending)
    transport.setScript { _ in nil }
    await store.sync()
    #expect(try store.outboxEntries().isEmpty)
  }

  @Test("A page of another size than a blob does not replace the blob", arguments: [11, 3])
  func blob(length: Int) async throws {
    let transport = ServiceTransport(
      SyncService(storage: try SQLiteServerStorage(), now: { 1_767_225_600_000 }), users: ["good": "ann"]
    )
    let remote = BothyRemote(
      url: "https://example.org", space: "hut", transport: transport, token: { "good" })
    let schema = StoreSchema(types: [TypeSchema("Photo", fields: [FieldSchema("picture", .blob)])])
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.file("a.sqlite"), schema: schema, remote: remote, configuration: .quiet)
    await store.sync()
    let blob = try await store.blobs.add(Data("a picture".utf8))
    try await store.save(AnyRecord("Photo", id: "P1", ["picture": FieldValue(blob)]))
    transport.setScript { _ in
      TransportResponse(
        status: 200, headers: [.contentLength: String(length)],
        body: Array(repeating: UInt8(ascii: "x"), count: length))
    }
    let report = await store.sync()
    #expect(report.stop?.name == "unreachable")
    #expect(try store.outboxEntries().count == 1)
    if case .local = try store.blobs.state(of: blob) {} else { Issue.record("not kept here") }
  }

  @Test("A server can delay a device for an hour, but not for a year")
  func wait() async throws {
    let (transport, store) = try await parts()
    let headers: HTTPFields = [.retryAfter: "31536000"]
    transport.setScript { _ in TransportResponse(status: 429, headers: headers) }
    #expect(await store.sync().retryAfter == 3600)
  }
}
