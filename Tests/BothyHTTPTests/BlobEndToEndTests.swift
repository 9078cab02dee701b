import BothyHTTP
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// Blobs over a socket, with the real server.
@Suite("Blobs over a socket", .timeLimit(.minutes(10)))
struct BlobEndToEndTests {
  private static let schema = StoreSchema(
    types: [TypeSchema("Snap", fields: [FieldSchema("image", .blob, optional: true)])])

  private func store(_ folder: String, _ name: String, _ remote: any RemoteStorage) throws -> SyncedStore {
    var configuration = SyncOptions.quiet
    configuration.blobs.partSize = 256 << 10
    return try SyncedStore(
      at: "\(folder)/\(name).bothy", schema: Self.schema, remote: remote, configuration: configuration)
  }

  private func withServer(
    vault: Bool = true, tokens: String? = nil,
    _ body: @escaping @Sendable (RunningServer, String) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let blobs =
      vault ? FolderBlobStorage(at: folder.file("vault"), now: ServerConfiguration.systemClock) : nil
    try await RunningServer.run(tokens: tokens, blobs: blobs) { try await body($0, folder.path) }
  }

  /// Promises: S-78, S-76
  @Test("A blob over a megabyte is uploaded in parts, resumes, and reaches another device")
  func journey() async throws {
    let tokens = #"[{"token":"a-token","principal":"ann","spaces":["hut"]}]"#
    try await withServer(tokens: tokens) { server, folder in
      let picture = Data((0..<1_300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) })
      let faulty = FaultyRemote(server.remote(token: "a-token"))
      let a = try store(folder, "a", faulty)
      let blob = try await a.blobs.add(picture, contentType: "image/png")
      try await a.save(AnyRecord("Snap", id: "1", ["image": FieldValue(blob)]))
      faulty.setBlobScript { if case .upload(_, 524_288) = $0 { .lostAnswer } else { .none } }
      #expect(await a.sync().stop?.name == "unreachable")
      faulty.setBlobScript { _ in .none }
      let report = await a.sync()
      #expect(report.obstacle == nil)
      #expect(report.pushed == 1)
      let offsets = faulty.blobRequests.compactMap { if case .upload(_, let at) = $0 { at } else { nil } }
      #expect(offsets == [0, 262_144, 524_288, 786_432, 1_048_576])
      let b = try store(folder, "b", server.remote(token: "a-token"))
      await b.sync()
      let found = try #require(try b.store.record(RecordID(type: "Snap", id: "1"))?["image"].blob)
      guard case .remote(let url) = try b.blobs.state(of: found) else {
        Issue.record("no address")
        return
      }
      let transport = platformTransport()
      let answer = try await transport.send(
        TransportRequest(.get, url.absoluteString, headers: [.authorization: "Bearer a-token"]))
      #expect(Data(answer.body) == picture)
      #expect(try await transport.send(TransportRequest(.get, url.absoluteString)).status == 401)
      #expect(try await b.blobs.data(for: found) == picture)
      let stranger = try store(folder, "c", server.remote(token: "wrong"))
      let error = await #expect(throws: BothyError.self) { try await stranger.blobs.data(for: found) }
      #expect(error?.code == .signInRequired)
    }
  }

  @Test("An empty blob, an unknown one and a server without blobs are distinguished")
  func edges() async throws {
    try await withServer { server, folder in
      let a = try store(folder, "a", server.remote())
      let empty = try await a.blobs.add(Data())
      try await a.save(AnyRecord("Snap", id: "1", ["image": FieldValue(empty)]))
      #expect(await a.sync().pushed == 1)
      let b = try store(folder, "b", server.remote())
      #expect(try await b.blobs.data(for: empty) == Data())
      let unknown = Blob(sha256: String(repeating: "a", count: 64), size: 5)
      let error = await #expect(throws: BothyError.self) { try await b.blobs.data(for: unknown) }
      #expect(error?.code == .blobMissing)
    }
    try await withServer(vault: false) { server, folder in
      let a = try store(folder, "a", server.remote())
      let blob = try await a.blobs.add(Data([1, 2, 3]))
      try await a.save(AnyRecord("Snap", id: "1", ["image": FieldValue(blob)]))
      #expect(await a.sync().rejected.map(\.code) == ["blobsUnsupported"])
    }
  }
}
