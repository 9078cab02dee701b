import BothyServer
import BothyStore
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Logging
import Testing

/// The requests of blobs on S3: their number, their addresses, and a storage that fails.
@Suite("Blobs in a bucket", .timeLimit(.minutes(5)))
struct S3BlobStorageTests {
  private let time = VirtualTime()
  private let credentials = S3Credentials(id: "id", secret: "secret")

  // MARK: costs

  @Test("A part in the middle of an upload costs one request")
  func parts() async throws {
    let fake = FakeS3(time: time)
    let storage = try S3BlobStorage.under(fake, time)
    let bytes = blobBytes()
    _ = try await storage.append(BlobPart(of: bytes, 0..<10), in: "hut")
    fake.forgetRequests()
    _ = try await storage.append(BlobPart(of: bytes, 10..<20), in: "hut")
    #expect(fake.requests == ["PUT parts"])
    fake.forgetRequests()
    _ = try await storage.holding(of: S3Signature.hash(bytes), in: "hut")
    #expect(fake.requests == ["GET list marks", "GET list content", "GET list parts"])
  }

  @Test("A blob that another process completed is whole for this one at once")
  func completedElsewhere() async throws {
    let fake = FakeS3(time: time)
    let (first, second) = try (S3BlobStorage.under(fake, time), S3BlobStorage.under(fake, time))
    let bytes = blobBytes()
    _ = try await first.append(BlobPart(of: bytes, 0..<10), in: "hut")
    _ = try await second.append(BlobPart(of: bytes, 10..<bytes.count), in: "hut")
    let size = Int64(bytes.count)
    #expect(try await first.holding(of: S3Signature.hash(bytes), in: "hut") == .whole(size: size))
  }

  @Test("Pushes without blobs and most pulls cost no request")
  func pushes() async throws {
    let fake = FakeS3(time: time)
    let storage = try S3BlobStorage.under(fake, time)
    let service = SyncService(storage: try SQLiteServerStorage(), blobs: storage, now: time.reader())
    func push(_ id: String, _ fields: [String: JSONValue]) async throws {
      let operation = SyncOperation(
        id: id, kind: .insert, record: RecordID(type: "Snap", id: id), base: nil, fields: fields)
      _ = try await service.perform(space: "hut", user: Caller("ann"), operation)
    }
    func pull() async throws {
      _ = try await service.sync(
        space: "hut", user: Caller("ann"),
        SyncRequest(device: "d", pulls: [SyncRequest.Pull(.everything)]))
    }
    try await push("1", ["title": .string("none")])
    #expect(fake.requests == [])
    let name = try await storage.upload(blobBytes(), in: "hut")
    fake.forgetRequests()
    try await push("2", ["title": .string("none")])
    #expect(fake.requests == [])
    try await push("3", ["image": .object(["sha256": .string(name), "size": .int(45)])])
    #expect(fake.requests == ["GET list marks", "GET list marks", "DELETE marks"])
    fake.forgetRequests()
    try await push("4", ["image": .object(["sha256": .string(name), "size": .int(45)])])
    #expect(fake.requests == ["GET list marks"])
    fake.forgetRequests()
    for _ in 0..<3 { try await pull() }
    #expect(fake.requests == ["GET list marks"])
    time.advance(by: 31_000)
    for _ in 0..<3 { try await pull() }
    #expect(fake.requests == ["GET list marks", "GET list marks"])
  }

  @Test("A download costs a request for each range, after the look-up of the blob")
  func downloads() async throws {
    let fake = FakeS3(time: time)
    let name = try await S3BlobStorage.under(fake, time).upload(blobBytes(), in: "hut")
    let storage = try S3BlobStorage.under(fake, time)
    try await storage.keep([name], in: "hut")
    fake.forgetRequests()
    _ = try await storage.holding(of: name, in: "hut")
    for start in stride(from: Int64(0), to: 45, by: 15) {
      _ = try await storage.read(name, start..<(start + 15), in: "hut")
    }
    let reads = Array(repeating: "GET content", count: 3)
    #expect(fake.requests == ["GET list marks", "GET list content"] + reads)
  }

  // MARK: failures

  /// Promises: A-7
  @Test(
    "A busy storage is tried again, and what remains is no missing blob",
    arguments: [
      .lostRequest, .lostAnswer, .refused(503, "SlowDown"), .refused(500, "InternalError"),
      .refused(429, ""), .refused(400, "RequestTimeout"), .refused(409, "OperationAborted"),
    ] as [FakeS3.Fault])
  func busy(fault: FakeS3.Fault) async throws {
    let (fake, isDown) = (FakeS3(time: time), Locked(false))
    let storage = try S3BlobStorage.under(fake, time) { number in
      isDown.value || number % 3 != 2 ? fault : .none
    }
    let name = try await storage.upload(blobBytes(), in: "hut")
    #expect(try await storage.read(name, 0..<100, in: "hut") == blobBytes())
    isDown.value = true
    let error = await #expect(throws: StorageUnavailable.self) {
      try await storage.read(name, 0..<100, in: "hut")
    }
    #expect(error?.reason == .blobs)
    await #expect(throws: StorageUnavailable.self) { try await storage.holding(of: name, in: "hut") }
    await #expect(throws: StorageUnavailable.self) { try await storage.kept(in: "hut") }
  }

  /// Promises: A-7
  @Test(
    "A storage that refuses requests or answers something else has no missing blobs",
    arguments: [
      .refused(403, "AccessDenied"), .refused(404, "NoSuchBucket"), .refused(404, ""), .refused(200, ""),
      .refused(301, "PermanentRedirect"),
    ] as [FakeS3.Fault])
  func refused(fault: FakeS3.Fault) async throws {
    let (fake, log) = (FakeS3(time: time), LogUnderTest())
    let name = try await S3BlobStorage.under(fake, time).upload(blobBytes(), in: "hut")
    let count = Locked(0)
    let storage = try S3BlobStorage.under(fake, time, log: log) { _ in
      count.change { $0 += 1 }
      return fault
    }
    await #expect(throws: StorageUnavailable.self) { try await storage.holding(of: name, in: "hut") }
    await #expect(throws: StorageUnavailable.self) { try await storage.read(name, 0..<100, in: "hut") }
    #expect(count.value == 2)
    #expect(await storage.hasUnnamed(in: "hut"))
    // Pulls don't depend on it.
    #expect(try await storage.wanted(in: "hut", limit: 10) == [])
    await #expect(throws: S3Bucket.Unusable.self) { try await storage.check() }
    #expect(log.lines.filter { $0.level == .error }.count == 1)
  }

  @Test("Without the bucket blobs are answered 503, and pulls go on")
  func route() async throws {
    let (fake, isDown) = (FakeS3(time: time), Locked(false))
    var server = try ServerUnderTest()
    server.configuration.blobs = try S3BlobStorage.under(fake, time) { _ in
      isDown.value ? .refused(503, "SlowDown") : .none
    }
    let bytes = String(decoding: blobBytes(20, 48), as: UTF8.self)
    let address = "/v1/spaces/hut/blobs/" + S3Signature.hash(Array(bytes.utf8))
    try await server.run { call in
      let made = try await call(.put, address, bytes, [.contentType: "application/octet-stream"])
      #expect(made.status == 201)
      #expect(try await call(.get, address).text == bytes)
      isDown.value = true
      let failed = try await call(.get, address)
      #expect(failed.status == 503)
      #expect(failed.headers[.retryAfter] == "1")
      #expect(try failed.code() == "unavailable")
      let pull = try await call(
        .post, "/v1/spaces/hut/sync", #"{"device":"d","pulls":[{"container":"Todo"}]}"#)
      #expect(pull.status == 200)
      isDown.value = false
      #expect(try await call(.get, address).text == bytes)
    }
  }

  /// Promises: A-6
  @Test("A completion that fails after the status 200 is tried again")
  func lateFailure() async throws {
    let fake = FakeS3(time: time)
    try await S3BlobStorage.under(fake, time).upload(blobBytes(), in: "hut")
    let completion = try #require(fake.requests.lastIndex(of: "POST content"))
    let other = FakeS3(time: time)
    let storage = try S3BlobStorage.under(other, time) { number in
      number == completion ? .refused(200, "InternalError") : .none
    }
    let name = try await storage.upload(blobBytes(), in: "hut")
    #expect(other.requests.filter { $0 == "POST content" }.count == 2)
    #expect(try await storage.read(name, 0..<100, in: "hut") == blobBytes())
  }

  @Test("A sweep leaves an upload that was continued since")
  func continued() async throws {
    let (fake, day) = (FakeS3(time: time), Int64(86_400_000))
    let storage = try S3BlobStorage.under(fake, time)
    _ = try await storage.append(BlobPart(of: blobBytes(), 0..<10), in: "hut")
    time.advance(by: 7 * day)
    _ = try await storage.append(BlobPart(of: blobBytes(), 10..<20), in: "hut")
    time.advance(by: 6 * day)
    #expect(try await storage.sweep(before: time.now - 7 * day) == 0)
    #expect(try await storage.holding(of: S3Signature.hash(blobBytes()), in: "hut") == .part(20))
    time.advance(by: 2 * day)
    #expect(try await storage.sweep(before: time.now - 7 * day) == 1)
    #expect(try await storage.holding(of: S3Signature.hash(blobBytes()), in: "hut") == .part(0))
  }

  // MARK: addresses

  @Test("The bucket is in the host on AWS, and in the path elsewhere")
  func addresses() async throws {
    func url(_ address: String, _ endpoint: String?, hostNames: Bool = false) async throws -> String {
      let bucket = try S3Bucket(
        address, endpoint: endpoint, region: "eu-central-1", credentials: credentials,
        usesHostNames: hostNames)
      let sent = Locked("")
      let storage = S3BlobStorage(
        bucket, logger: LogUnderTest().logger(), pieceSize: 16, now: { 0 }, timer: VirtualClock(),
        sleep: { _ in },
        send: { request in
          sent.value = request.url
          return OutboundResponse(status: 403)
        })
      await #expect(throws: S3Bucket.Unusable.self) { try await storage.check() }
      return String(sent.value.prefix { $0 != "?" })
    }
    #expect(try await url("s3://shelf", nil) == "https://shelf.s3.eu-central-1.amazonaws.com/")
    #expect(try await url("s3://a.shelf/b/c", nil) == "https://s3.eu-central-1.amazonaws.com/a.shelf/")
    #expect(try await url("s3://shelf", "https://S3.example.org:443/") == "https://s3.example.org/shelf/")
    #expect(try await url("s3://shelf", "http://localhost:9000") == "http://localhost:9000/shelf/")
    #expect(
      try await url("s3://shelf", "https://s3.example.org", hostNames: true)
        == "https://shelf.s3.example.org/")
  }

  @Test(
    "Addresses that can't be used are refused",
    arguments: [
      ("shelf", nil), ("s3://", nil), ("s3://Shelf", nil), ("s3://shelf/a b", nil), ("s3://shelf/../x", nil),
      ("s3://shelf", "s3.example.org"), ("s3://shelf", "https://s3.example.org/path"),
      ("s3://shelf", "http://s3.example.org"), ("s3://shelf", "https://user@s3.example.org"),
    ] as [(String, String?)])
  func unusable(address: String, endpoint: String?) {
    #expect(throws: S3Bucket.Unusable.self) {
      try S3Bucket(address, endpoint: endpoint, region: "us-east-1", credentials: credentials)
    }
  }
}
