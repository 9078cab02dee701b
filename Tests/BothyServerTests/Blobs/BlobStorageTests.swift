import BothyServer
import BothyStore
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The requirements of `BlobFileStorage`, held by a folder and by a bucket on S3.
@Suite("A storage of blobs", .timeLimit(.minutes(5)))
struct BlobStorageTests {
  typealias Kind = StorageUnderTest.Kind
  private let day: Int64 = 86_400_000
  private let hour: Int64 = 3_600_000

  @Test("One process continues an upload that another began", arguments: Kind.allCases)
  func continued(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let bytes = blobBytes()
    let name = S3Signature.hash(bytes)
    #expect(try await storage.one.append(BlobPart(of: bytes, 0..<10), in: "hut") == .part(10))
    #expect(try await storage.two.holding(of: name, in: "hut") == .part(10))
    #expect(try await storage.two.append(BlobPart(of: bytes, 10..<30), in: "hut") == .part(30))
    storage.pass()
    #expect(try await storage.one.append(BlobPart(of: bytes, 10..<20), in: "hut") == .part(30))
    #expect(try await storage.one.append(BlobPart(of: bytes, 40..<45), in: "hut") == .part(30))
    #expect(try await storage.one.append(BlobPart(of: bytes, 30..<45), in: "hut") == .whole(size: 45))
    #expect(try await storage.two.holding(of: name, in: "hut") == .whole(size: 45))
    #expect(try await storage.two.append(BlobPart(of: bytes, 0..<10), in: "hut") == .whole(size: 45))
    #expect(try await storage.two.read(name, 0..<100, in: "hut") == bytes)
    #expect(try await storage.one.read(name, 40..<43, in: "hut") == Array(bytes[40..<43]))
    #expect(try await storage.one.read(name, 45..<50, in: "hut") == [])
    #expect(try await storage.one.holding(of: name, in: "den") == .part(0))
    let error = await #expect(throws: BlobError.self) { try await storage.one.read(name, 0..<9, in: "den") }
    #expect(error?.code == .notFound)
  }

  @Test("Blobs of any size are stored", arguments: Kind.allCases, [0, 1, 10, 16, 17, 45, 100])
  func sizes(_ kind: Kind, count: Int) async throws {
    let storage = try StorageUnderTest(kind)
    let bytes = blobBytes(count)
    let name = try await storage.one.upload(bytes, in: "hut")
    #expect(try await storage.two.holding(of: name, in: "hut") == .whole(size: Int64(count)))
    #expect(try await storage.two.read(name, 0..<1000, in: "hut") == bytes)
    #expect(try await storage.two.verifiedHolding(of: name, in: "hut") == .whole(size: Int64(count)))
    #expect(storage.bucket?.openUploads ?? 0 == 0)
    #expect(storage.bucket?.kinds ?? ["content", "marks"] == ["content", "marks"])
  }

  /// Promises: A-9
  @Test("Bytes of another checksum are discarded with all parts", arguments: Kind.allCases)
  func mismatch(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let (bytes, wrong) = (blobBytes(), blobBytes(45, 9))
    let name = S3Signature.hash(bytes)
    let begun = BlobPart(sha256: name, size: 45, offset: 0, bytes: Array(wrong[..<30]))
    #expect(try await storage.one.append(begun, in: "hut") == .part(30))
    let last = BlobPart(sha256: name, size: 45, offset: 30, bytes: Array(wrong[30...]))
    let error = await #expect(throws: BlobError.self) { try await storage.one.append(last, in: "hut") }
    #expect(error?.code == .checksumMismatch)
    #expect(try await storage.one.holding(of: name, in: "hut") == .part(0))
    #expect(storage.bucket?.openUploads ?? 0 == 0)
    // After excess bytes the blob can still be uploaded.
    let excess = BlobPart(sha256: name, size: 1000, offset: 0, bytes: blobBytes(300))
    _ = try await storage.two.append(excess, in: "hut")
    storage.pass()
    try await storage.one.upload(bytes, in: "hut")
    #expect(try await storage.two.read(name, 0..<100, in: "hut") == bytes)
  }

  @Test("The sweep deletes what no operation named and nothing requested", arguments: Kind.allCases)
  func sweep(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let kept = try await storage.one.upload(blobBytes(45, 1), in: "hut")
    try await storage.one.keep([kept], in: "hut")
    let fresh = try await storage.one.upload(blobBytes(45, 2), in: "hut")
    let begun = BlobPart(
      sha256: String(repeating: "b", count: 64), size: 9, offset: 0, bytes: [1])
    _ = try await storage.one.append(begun, in: "den")
    #expect(await storage.two.hasUnnamed(in: "hut"))
    let start = storage.time.now
    storage.time.advance(by: day)
    #expect(try await storage.two.holding(of: fresh, in: "hut") == .whole(size: 45))
    #expect(await storage.one.hasNews(in: "hut", since: start + 1))
    _ = try await storage.one.sweep(before: start + day - 1)
    #expect(try await storage.two.read(fresh, 0..<100, in: "hut") == blobBytes(45, 2))
    _ = try await storage.two.sweep(before: StorageUnderTest.later)
    storage.pass()
    #expect(try await storage.one.holding(of: kept, in: "hut") == .whole(size: 45))
    #expect(try await storage.one.holding(of: fresh, in: "hut") == .part(0))
    #expect(try await storage.one.holding(of: begun.sha256, in: "den") == .part(0))
    #expect(await !storage.one.hasUnnamed(in: "hut"))
    #expect(storage.bucket?.kinds ?? ["content"] == ["content"])
    #expect(try await storage.one.kept(in: "hut") == [kept: 45])
    #expect(try await storage.one.upload(blobBytes(45, 2), in: "hut") == fresh)
  }

  @Test("A removed space has nothing, and others keep theirs", arguments: Kind.allCases)
  func removed(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let name = try await storage.one.upload(blobBytes(), in: "hut")
    try await storage.one.upload(blobBytes(), in: "den")
    try await storage.one.want([String(repeating: "c", count: 64)], in: "hut", limit: 10)
    try await storage.one.remove(space: "hut")
    #expect(try await storage.one.holding(of: name, in: "hut") == .part(0))
    #expect(try await storage.one.wanted(in: "hut", limit: 10) == [])
    #expect(try await storage.one.holding(of: name, in: "den") == .whole(size: 45))
  }

  /// Promises: A-10
  @Test("Sizes and quotas are limited, and deletions make room", arguments: Kind.allCases)
  func limits(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind, limits: BlobLimits(largest: 60, quota: 100, least: 1))
    let large = await #expect(throws: BlobError.self) {
      try await storage.one.upload(blobBytes(61), in: "hut")
    }
    #expect(large?.code == .tooLarge)
    try await storage.one.upload(blobBytes(60, 1), in: "hut")
    try await storage.one.upload(blobBytes(40, 2), in: "hut")
    for process in [storage.one, storage.two] {
      let full = await #expect(throws: BlobError.self) {
        try await process.upload(blobBytes(1, 3), in: "hut")
      }
      #expect(full?.code == .quotaExceeded)
    }
    try await storage.two.upload(blobBytes(60, 1), in: "den")
    _ = try await storage.one.sweep(before: StorageUnderTest.later)
    storage.pass()
    try await storage.one.upload(blobBytes(50, 3), in: "hut")
  }

  /// Promises: A-8
  @Test("A damaged blob is quarantined, and an upload replaces it", arguments: Kind.allCases, [0, 44, 45])
  func damaged(_ kind: Kind, length: Int) async throws {
    let storage = try StorageUnderTest(kind)
    let name = try await storage.one.upload(blobBytes(), in: "hut")
    try await storage.one.keep([name], in: "hut")
    try storage.damage(name, with: blobBytes(length, 9))
    #expect(try await storage.two.verifiedHolding(of: name, in: "hut") == .part(0))
    #expect(storage.bucket?.kinds ?? ["damaged"] == ["damaged"])
    try await storage.two.want([name], in: "hut", limit: 10)
    #expect(try await storage.two.wanted(in: "hut", limit: 10) == [name])
    try await storage.two.upload(blobBytes(), in: "hut")
    #expect(try await storage.two.wanted(in: "hut", limit: 10) == [])
    // A wanted blob is kept.
    _ = try await storage.one.sweep(before: StorageUnderTest.later)
    #expect(try await storage.one.read(name, 0..<100, in: "hut") == blobBytes())
    // The right bytes replace a damaged blob that was not noticed.
    try storage.damage(name, with: blobBytes(length, 9))
    let part = BlobPart(sha256: name, size: 45, offset: 0, bytes: blobBytes())
    #expect(try await storage.one.append(part, in: "hut") == .whole(size: 45))
    #expect(try await storage.two.read(name, 0..<100, in: "hut") == blobBytes())
  }

  @Test("A blob that was found intact isn't read again within a minute", arguments: Kind.allCases)
  func intact(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let name = try await storage.one.upload(blobBytes(), in: "hut")
    #expect(try await storage.one.verifiedHolding(of: name, in: "hut") == .whole(size: 45))
    try storage.damage(name, with: blobBytes(45, 9))
    let part = BlobPart(sha256: name, size: 45, offset: 0, bytes: [1])
    #expect(try await storage.one.append(part, in: "hut") == .whole(size: 45))
    storage.pass()
    #expect(try await storage.one.verifiedHolding(of: name, in: "hut") == .part(0))
  }

  /// Promises: A-10
  @Test("Several processes may exceed a quota for ten seconds, and no longer", arguments: Kind.allCases)
  func quotaOfProcesses(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind, limits: BlobLimits(largest: 60, quota: 100, least: 1))
    _ = try await storage.one.append(BlobPart(of: blobBytes(50, 4), 0..<10), in: "hut")
    try await storage.two.upload(blobBytes(60, 5), in: "hut")
    try await storage.one.upload(blobBytes(45, 6), in: "hut")
    storage.pass()
    let full = await #expect(throws: BlobError.self) {
      try await storage.one.upload(blobBytes(1, 7), in: "hut")
    }
    #expect(full?.code == .quotaExceeded)
  }

  @Test("Tiny blobs count as 4 KiB each, finished or not", arguments: Kind.allCases)
  func tiny(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind, limits: BlobLimits(quota: 3 * 4096 + 100))
    for bytes in [blobBytes(1, 1), blobBytes(1, 2), []] {
      try await storage.one.upload(bytes, in: "hut")
    }
    let begun = blobBytes(4096, 4)
    _ = try await storage.one.append(BlobPart(of: begun, 0..<2), in: "hut")
    for process in [storage.one, storage.two] {
      let full = await #expect(throws: BlobError.self) {
        try await process.upload(blobBytes(1, 3), in: "hut")
      }
      #expect(full?.code == .quotaExceeded)
    }
    // What is there counts already.
    #expect(try await storage.one.append(BlobPart(of: begun, 2..<4096), in: "hut") == .whole(size: 4096))
  }

  @Test("A part that isn't taken leaves no file in a folder")
  func refusedPart() async throws {
    let folder = try TemporaryFolder()
    let vault = folder.file("vault")
    let limits = BlobLimits(largest: 60, quota: 10, least: 1)
    let storage = FolderBlobStorage(at: vault, limits: limits, now: { 1000 })
    let (large, small) = (blobBytes(20, 1), blobBytes(8, 2))
    #expect(try await storage.append(BlobPart(of: large, 5..<9), in: "hut") == .part(0))
    #expect(try await storage.append(BlobPart(of: small, 0..<0), in: "hut") == .part(0))
    let full = await #expect(throws: BlobError.self) {
      try await storage.append(BlobPart(of: large, 0..<5), in: "hut")
    }
    #expect(full?.code == .quotaExceeded)
    let files = try FileManager.default.subpathsOfDirectory(atPath: vault)
    #expect(!files.contains { $0.contains("partial/") })
    #expect(try await storage.append(BlobPart(of: small, 0..<3), in: "hut") == .part(3))
    #expect(try await storage.append(BlobPart(of: small, 3..<3), in: "hut") == .part(3))
    #expect(try await storage.append(BlobPart(of: small, 3..<8), in: "hut") == .whole(size: 8))
    #expect(try await storage.append(BlobPart(of: [], 0..<0), in: "hut") == .whole(size: 0))
  }

  @Test("Uploads that keep each other from the room end after an hour", arguments: Kind.allCases)
  func waitingUploads(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind, limits: BlobLimits(largest: 60, quota: 100, least: 1))
    let (first, second, small) = (blobBytes(60, 1), blobBytes(60, 2), blobBytes(5, 3))
    for bytes in [first, second] {
      _ = try await storage.one.append(BlobPart(of: bytes, 0..<20), in: "hut")
    }
    try await storage.one.upload(blobBytes(35, 4), in: "hut")
    storage.pass()
    for bytes in [first, second] {
      let full = await #expect(throws: BlobError.self) {
        try await storage.one.append(BlobPart(of: bytes, 20..<60), in: "hut")
      }
      #expect(full?.code == .quotaExceeded)
      #expect(try await storage.two.holding(of: S3Signature.hash(bytes), in: "hut") == .part(20))
    }
    storage.time.advance(by: BlobLimits.idleUpload)
    #expect(try await storage.one.append(BlobPart(of: first, 20..<60), in: "hut") == .whole(size: 60))
    #expect(try await storage.two.holding(of: S3Signature.hash(second), in: "hut") == .part(0))
    // An upload ends only if that makes enough room.
    _ = try await storage.one.append(BlobPart(of: small, 0..<4), in: "hut")
    storage.time.advance(by: BlobLimits.idleUpload + 60_000)
    let full = await #expect(throws: BlobError.self) { try await storage.two.upload(second, in: "hut") }
    #expect(full?.code == .quotaExceeded)
    #expect(try await storage.one.append(BlobPart(of: small, 4..<5), in: "hut") == .whole(size: 5))
  }

  @Test("Missing blobs are remembered up to the limit, then in place of the oldest", arguments: Kind.allCases)
  func wanted(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let names = "abcdef".map { String(repeating: $0, count: 64) }
    let whole = try await storage.one.upload(blobBytes(), in: "hut")
    try await storage.one.want([whole], in: "hut", limit: 10)
    #expect(try await storage.one.wanted(in: "hut", limit: 10) == [])
    try await storage.one.want(Set(names[..<3]), in: "hut", limit: 4)
    storage.pass()
    #expect(try await storage.two.wanted(in: "hut", limit: 10).sorted() == Array(names[..<3]))
    try await storage.two.want(Set(names[..<4]), in: "hut", limit: 4)
    storage.pass()
    #expect(try await storage.one.wanted(in: "hut", limit: 10).sorted() == Array(names[..<4]))
    try await storage.two.want(Set(names[4...]), in: "hut", limit: 4)
    storage.pass()
    #expect(try await storage.one.wanted(in: "hut", limit: 10).sorted() == Array(names[2...]))
    #expect(try await storage.one.wanted(in: "hut", limit: 2).count == 2)
    #expect(await storage.one.hasNews(in: "hut", since: storage.time.now - day))
    _ = try await storage.collect("hut", named: [names[2]])
    storage.pass()
    #expect(try await storage.two.wanted(in: "hut", limit: 10) == [names[2]])
  }

  @Test(
    "The grace of an unnamed blob begins again after a request", arguments: Kind.allCases)
  func grace(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    let (asked, gone, named) = (blobBytes(45, 1), blobBytes(45, 2), blobBytes(45, 3))
    var names: [String] = []
    for bytes in [asked, gone, named] { names.append(try await storage.one.upload(bytes, in: "hut")) }
    try await storage.one.keep(Set(names), in: "hut")
    let first = storage.time.now
    let found = try await storage.collect("hut", named: [names[2]])
    #expect(found.removed == 0)
    #expect(abs((found.next ?? 0) - first - 2 * day) <= 2001)
    storage.time.advance(by: day)
    #expect(try await storage.two.holding(of: names[0], in: "hut") == .whole(size: 45))
    storage.time.advance(by: 3_600_000)
    let second = storage.time.now
    #expect(try await storage.collect("hut", named: [names[2]], last: first).removed == 0)
    storage.time.advance(by: day)
    #expect(try await storage.collect("hut", named: [names[2]], last: second).removed == 1)
    let third = storage.time.now
    #expect(try await storage.two.holding(of: names[1], in: "hut") == .part(0))
    #expect(try await storage.two.kept(in: "hut").keys.sorted() == [names[0], names[2]].sorted())
    storage.time.advance(by: 2 * day)
    #expect(try await storage.collect("hut", named: [names[2]], last: third).removed == 1)
    #expect(try await storage.two.kept(in: "hut") == [names[2]: 45])
    #expect(storage.bucket?.kinds ?? ["content"] == ["content"])
  }

  @Test("What a clock years ahead has dated goes in its usual time", arguments: Kind.allCases)
  func clockAhead(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    storage.time.advance(by: 3000 * day)
    let (kept, fresh) = (blobBytes(45, 1), blobBytes(45, 2))
    let name = try await storage.one.upload(kept, in: "hut")
    try await storage.one.keep([name], in: "hut")
    try await storage.one.upload(fresh, in: "den")
    #expect(try await storage.collect("hut").removed == 0)
    storage.time.advance(by: -3000 * day)
    let first = storage.time.now
    #expect(try await storage.one.sweep(before: first - 7 * day) == 0)
    let found = try await storage.collect("hut")
    #expect(found.removed == 0)
    #expect(abs((found.next ?? 0) - first - 2 * day) <= 2001)
    storage.time.advance(by: 3 * day)
    #expect(try await storage.one.sweep(before: first - 4 * day) == 0)
    #expect(try await storage.two.read(S3Signature.hash(fresh), 0..<100, in: "den") == fresh)
    #expect(try await storage.collect("hut", last: first).removed == 1)
    storage.time.advance(by: 5 * day)
    #expect(try await storage.one.sweep(before: first + day) == 1)
    #expect(storage.bucket?.kinds ?? [] == [])
  }

  @Test(
    "One process takes the sweep for each period, and a lost one again", arguments: Kind.allCases)
  func takeSweep(_ kind: Kind) async throws {
    let storage = try StorageUnderTest(kind)
    func take(_ process: any BlobFileStorage, _ time: Int64) async throws -> Bool {
      try await process.takeSweep(at: time, every: day, lease: hour)
    }
    let start = 9 * day
    #expect(try await !take(storage.one, start), "nothing was uploaded yet")
    try await storage.one.upload(blobBytes(), in: "hut")
    #expect(try await take(storage.one, start))
    #expect(try await !take(storage.two, start + hour - 1))
    #expect(try await take(storage.two, start + hour), "it wasn't done within its lease")
    try await storage.two.noteSweep(at: start + hour)
    #expect(try await !take(storage.one, start + hour + day - 1))
    #expect(try await take(storage.one, start + hour + day))
    #expect(try await !take(storage.two, start + hour + day + 1))
    // After the clock was set back, the sweep isn't put off for ever.
    #expect(try await take(storage.one, 8 * day))
  }

  @Test("Uploads of one blob at once end with the right bytes", arguments: Kind.allCases, [1, 7, 64])
  func concurrent(_ kind: Kind, partSize: Int) async throws {
    let storage = try StorageUnderTest(kind)
    let bytes = blobBytes(60)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<6 {
        let process = number % 2 == 0 ? storage.one : storage.two
        group.addTask { try await process.upload(bytes, partSize: partSize, in: "hut") }
      }
      try await group.waitForAll()
    }
    let name = S3Signature.hash(bytes)
    #expect(try await storage.one.read(name, 0..<1000, in: "hut") == bytes)
    try await storage.two.keep([name], in: "hut")
    _ = try await storage.two.sweep(before: StorageUnderTest.later)
    #expect(try await storage.one.read(name, 0..<1000, in: "hut") == bytes)
  }
}

extension BlobPart {
  /// Creates the part of a blob with these bytes.
  init(of bytes: [UInt8], _ range: Range<Int>) {
    self.init(
      sha256: S3Signature.hash(bytes), size: Int64(bytes.count), offset: Int64(range.lowerBound),
      bytes: Array(bytes[range]))
  }
}
