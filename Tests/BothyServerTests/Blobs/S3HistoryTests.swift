import BothyServer
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Random histories of processes that upload, request, name, collect and sweep blobs, and are killed.
@Suite("Random histories of blobs in a bucket", .timeLimit(.minutes(5)))
struct S3HistoryTests {
  private static let day: Int64 = 86_400_000

  /// The blobs of a space, and what devices and records rely on.
  private struct History {
    let time = VirtualTime()
    let fake: FakeS3
    let processes: [S3BlobStorage]
    let blobs = (0..<4).map { blobBytes(20 + 10 * $0, UInt8($0)) }
    var random: SeededGenerator
    /// The times until which devices rely on blobs, by index.
    var promised: [Int: Int64] = [:]
    var named: Set<Int> = []
    var lastTime: Int64?

    init(seed: UInt64) throws {
      fake = FakeS3(time: time)
      processes = [try .under(fake, time), try .under(fake, time)]
      random = SeededGenerator(seed: seed)
    }

    /// Returns one of the processes, or one that will be killed.
    mutating func process() throws -> S3BlobStorage {
      guard Int.random(in: 0..<3, using: &random) == 0 else {
        return processes[Int.random(in: 0..<2, using: &random)]
      }
      let last = Int.random(in: 0..<16, using: &random)
      let end = Bool.random(using: &random) ? FakeS3.Fault.lostAnswer : .lostRequest
      return try .under(fake, time) { $0 < last ? .none : $0 == last ? end : .lostRequest }
    }

    mutating func step() async throws {
      let (process, index) = (try process(), Int.random(in: 0..<blobs.count, using: &random))
      let name = S3Signature.hash(blobs[index])
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        try await process.upload(blobs[index], in: "hut")
        promised[index] = time.now + S3HistoryTests.day
      case 1:
        guard case .whole = try await process.holding(of: name, in: "hut") else { return }
        promised[index] = time.now + S3HistoryTests.day
      case 2:
        guard promised[index, default: 0] > time.now else { return }
        try await process.keep([name], in: "hut")
        named.insert(index)
      case 3: named.remove(index)
      case 4: try await collect(process)
      case 5: _ = try await process.sweep(before: time.now - 7 * S3HistoryTests.day)
      default: time.advance(by: Int64.random(in: 60_000...3 * S3HistoryTests.day, using: &random))
      }
    }

    private mutating func collect(_ process: S3BlobStorage) async throws {
      let names = Set(named.map { S3Signature.hash(blobs[$0]) })
      let kept = try await process.kept(in: "hut")
      if await process.hasUnnamed(in: "hut") { try await process.keep(names, in: "hut") }
      let release = BlobRelease(
        blobs: kept, named: names, time: time.now, lastTime: lastTime, grace: 2 * S3HistoryTests.day)
      lastTime = time.now
      _ = try await process.release(release, in: "hut")
    }

    /// The blobs that must be readable now.
    var needed: [Int] { blobs.indices.filter { named.contains($0) || promised[$0, default: 0] > time.now } }
  }

  /// Promises: A-6
  @Test("No blob that devices or records rely on is lost", arguments: RandomRuns.seeds(10, from: 1))
  func history(seed: UInt64) async throws {
    var history = try History(seed: seed)
    for step in 0..<120 {
      do { try await history.step() } catch is StorageUnavailable {}  // the process was killed
      let reader = try S3BlobStorage.under(history.fake, history.time)
      for index in history.needed {
        let bytes = history.blobs[index]
        let found = try await reader.read(S3Signature.hash(bytes), 0..<1000, in: "hut")
        #expect(found == bytes, "seed \(seed), step \(step), blob \(index)")
      }
    }
    // Without promises and records everything is deleted.
    history.named = []
    let process = history.processes[0]
    for _ in 0..<4 {
      history.time.advance(by: 8 * Self.day)
      let kept = try await process.kept(in: "hut")
      _ = try await process.release(
        BlobRelease(blobs: kept, named: [], time: history.time.now, lastTime: nil, grace: 2 * Self.day),
        in: "hut")
      _ = try await process.sweep(before: history.time.now - 7 * Self.day)
    }
    #expect(history.fake.kinds == [], "seed \(seed)")
    #expect(history.fake.openUploads == 0)
  }
}
