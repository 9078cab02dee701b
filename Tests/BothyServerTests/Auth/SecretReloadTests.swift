import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Logging
import Testing

/// Secrets by which the server signs its own requests, read again while it runs.
@Suite("Secrets that are read again while the server runs", .timeLimit(.minutes(5)))
struct SecretReloadTests {
  private static let secrets = ["first", "other"].map { $0 + String(repeating: "0", count: 24) }

  /// The signatures of a request by the keys of a secret's file.
  private func signature(_ request: OutboundRequest, _ secret: String) throws -> String {
    RequestSignature.field(
      id: request.headers["webhook-id"] ?? "", time: 1_795_000_000, body: request.body,
      keys: try RequestSignature.keys(Array(secret.utf8), of: "it"))
  }

  private func request(_ callout: WriteCallout) async throws {
    let record = RecordID(type: "Note", id: "a")
    let write = ProposedWrite(
      operation: "op", kind: .insert, record: record, fields: [:], before: nil,
      after: ServerRecord(id: record, version: "", modified: 1))
    let proposal = WriteProposal(space: "s", user: Caller("ann"), time: 1, writes: [write])
    #expect(try await callout.decisions(on: proposal).allSatisfy { $0.outage == nil })
  }

  @Test("A back end's changed secret signs the next request, and an unsuitable one doesn't")
  func callout() async throws {
    let folder = try TileFolderUnderTest()
    let path = folder.path + "/decide.secret"
    try folder.write("decide.secret", Self.secrets[0])
    let (backEnd, log) = (BackEndUnderTest(), LogUnderTest())
    let callout = try backEnd.callout()
    try callout.replace(secret: Array(Self.secrets[0].utf8))
    let watch = FileWatch([path], subject: "the secret", logger: log.logger()) {
      try callout.replace(secret: Array(Data(contentsOf: URL(filePath: path))))
    }
    try await request(callout)
    try folder.write("decide.secret", "short")
    watch.look()
    try await request(callout)
    #expect(log.lines.map(\.level) == [.error])
    // With a line for each, both are valid while the receiver changes.
    let both = Self.secrets.joined(separator: "\n")
    try folder.write("decide.secret", both)
    watch.look()
    try await request(callout)
    let requests = backEnd.requests
    #expect(requests.count == 3)
    for (request, secret) in zip(requests, [Self.secrets[0], Self.secrets[0], both]) {
      #expect(try request.headers["webhook-signature"] == signature(request, secret))
    }
  }

  @Test("A webhook's changed secret signs the next attempt")
  func webhook() async throws {
    let world = try WebhookWorld()
    let keys = Locked<WebhookKeys?>(nil)
    let sender = try world.sender { settings in keys.value = settings.keys }
    try await world.write("a")
    await world.run(sender)
    func hook(_ name: String) throws -> Webhook {
      try Webhook(name: name, url: "https://example.org/y", secret: Self.secrets.joined(separator: "\n"))
    }
    try keys.value?.take([hook("another")])
    try await world.write("b")
    sender.news(space: "s")
    await world.run(sender)
    try keys.value?.take([hook("webhook")])
    try await world.write("c")
    sender.news(space: "s")
    await world.run(sender)
    #expect(world.taken.value.map { $0.signature.split(separator: " ").count } == [1, 1, 2])
  }

  @Test("A bucket's changed key signs the next request")
  func bucket() async throws {
    let bucket = try S3Bucket(
      "s3://shelf", region: "eu-central-1", credentials: S3Credentials(id: "old", secret: "secret"))
    let sent = Locked<[[String: String]]>([])
    let storage = S3BlobStorage(
      bucket, logger: LogUnderTest().logger(), pieceSize: 16, now: { 0 }, timer: VirtualClock(),
      sleep: { _ in },
      send: { request in
        sent.change { $0.append(request.headers) }
        return OutboundResponse(status: 403)
      })
    await #expect(throws: S3Bucket.Unusable.self) { try await storage.check() }
    storage.replace(S3Credentials(id: "new", secret: "other", token: "t"))
    await #expect(throws: S3Bucket.Unusable.self) { try await storage.check() }
    #expect(sent.value.map { $0["x-amz-security-token"] } == [nil, "t"])
    let ids = sent.value.map { $0["authorization"]?.contains("Credential=new/") }
    #expect(ids == [false, true])
  }

  @Test("A file of a bucket's key has the lines that systemd reads")
  func lines() {
    let key = S3Credentials(id: "id", secret: "a=b")
    for text in [
      "AWS_ACCESS_KEY_ID=id\nAWS_SECRET_ACCESS_KEY=a=b",
      "# key\n\nAWS_ACCESS_KEY_ID=\"id\"\r\nAWS_SECRET_ACCESS_KEY='a=b'\r\n",
      "export AWS_SECRET_ACCESS_KEY=a=b \nexport AWS_ACCESS_KEY_ID=id\nOTHER=1",
    ] {
      #expect(S3Credentials(lines: text) == key, "\(text)")
    }
    let temporary = "AWS_ACCESS_KEY_ID=id\nAWS_SECRET_ACCESS_KEY=a=b\nAWS_SESSION_TOKEN=t"
    #expect(S3Credentials(lines: temporary)?.token == "t")
    for text in ["", "AWS_ACCESS_KEY_ID=id", "AWS_ACCESS_KEY_ID=id\nAWS_SECRET_ACCESS_KEY="] {
      #expect(S3Credentials(lines: text) == nil, "\(text)")
    }
  }
}
