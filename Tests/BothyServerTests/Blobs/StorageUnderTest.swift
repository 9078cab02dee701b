import BothyServer
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation

/// A storage of blobs that two processes share, of either kind.
struct StorageUnderTest {
  enum Kind: CaseIterable, Sendable {
    case folder
    case bucket
  }

  let time = VirtualTime()
  let one: any BlobFileStorage
  let two: any BlobFileStorage
  /// The bucket, or `nil` for a folder.
  let bucket: FakeS3?
  private let temporary: TemporaryFolder
  private var folder: String { temporary.file("vault") }

  /// A time after all others, also after those of real files.
  static let later: Int64 = 14_400_000_000_000

  init(_ kind: Kind, limits: BlobLimits = BlobLimits()) throws {
    temporary = try TemporaryFolder()
    let folder = temporary.file("vault")
    switch kind {
    case .folder:
      one = FolderBlobStorage(at: folder, limits: limits, now: time.reader())
      two = FolderBlobStorage(at: folder, limits: limits, now: time.reader())
      bucket = nil
    case .bucket:
      let fake = FakeS3(time: time)
      one = try S3BlobStorage.under(fake, time, limits: limits)
      two = try S3BlobStorage.under(fake, time, limits: limits)
      bucket = fake
    }
  }

  /// Lets a minute and more pass, after which no process remembers anything.
  func pass() { time.advance(by: 61_000) }

  /// Replaces the bytes of a whole blob.
  func damage(_ sha256: String, with bytes: [UInt8]) throws {
    if let bucket { return bucket.damage(sha256, with: bytes) }
    let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    for file in files where file.hasSuffix(sha256) {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
  }

  /// Collects the blobs of a space at this time, as the upkeep does.
  func collect(
    _ space: String, named: Set<String> = [], last: Int64? = nil, grace: Int64 = 172_800_000
  ) async throws -> BlobRelease.Done {
    let kept = try await one.kept(in: space)
    return try await one.release(
      BlobRelease(blobs: kept, named: named, time: time.now, lastTime: last, grace: grace), in: space)
  }
}

extension S3BlobStorage {
  /// Makes the storage of one process on a bucket, with pieces of 16 bytes and without waits.
  static func under(
    _ fake: FakeS3, _ time: VirtualTime, limits: BlobLimits = BlobLimits(),
    log: LogUnderTest = LogUnderTest(),
    _ script: @escaping @Sendable (Int) async -> FakeS3.Fault = { _ in .none }
  ) throws -> S3BlobStorage {
    let bucket = try S3Bucket(
      "s3://\(FakeS3.bucket)", endpoint: "https://s3.example.org", region: "us-east-1",
      credentials: S3Credentials(id: "id", secret: "secret"))
    return S3BlobStorage(
      bucket, limits: limits, logger: log.logger(), pieceSize: 16, now: time.reader(), clock: time.reader(),
      timer: VirtualClock(), sleep: { _ in }, send: fake.process(script))
  }
}

extension BlobFileStorage {
  /// Uploads bytes in parts, from the point on that the storage says, and returns the blob's name.
  @discardableResult
  func upload(_ bytes: [UInt8], partSize: Int = 10, in space: String) async throws -> String {
    let name = S3Signature.hash(bytes)
    guard case .part(var offset) = try await holding(of: name, in: space) else { return name }
    while true {
      // A storage with more bytes than the blob has discards them.
      let start = min(bytes.count, Int(offset))
      let part = BlobPart(of: bytes, start..<min(bytes.count, start + partSize))
      guard case .part(let received) = try await append(part, in: space) else { return name }
      offset = received
    }
  }
}

/// Returns `count` bytes that depend on `seed`.
func blobBytes(_ count: Int = 45, _ seed: UInt8 = 1) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed }
}
