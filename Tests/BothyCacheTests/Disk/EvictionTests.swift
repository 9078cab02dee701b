import BothyCache
import BothyTestSupport
import Foundation
import Testing

@Suite("Eviction", .timeLimit(.minutes(5)))
struct EvictionTests {
  /// The folders of the test, which last as long as it.
  private let folders = Locked<[TemporaryFolder]>([])

  private func filled(_ kind: StoreKind, _ limits: DiskCache.Limits, _ numbers: Range<Int>) throws
    -> any DiskCache.Store
  {
    let folder = try TemporaryFolder()
    folders.change { $0.append(folder) }
    let store = try kind.open(folder, limits: limits)
    for number in numbers { try store.store([(tile(number), makeEntry(number))]) }
    return store
  }

  /// Promises: B-23, B-28
  @Test(
    "The entry with the oldest use is evicted, and a replacement evicts none",
    arguments: StoreKind.allCases)
  func recency(_ kind: StoreKind) throws {
    let store = try filled(kind, DiskCache.Limits(count: 3), 0..<3)
    #expect(try store.store(tile(1), makeEntry(11)).evicted.isEmpty)
    #expect(try store.total().count == 3)
    #expect(try store.entry(tile(1)) == makeEntry(11))
    try store.touch([(tile(0), 5000)])
    let report = try store.store(tile(3), makeEntry(3))
    #expect(report.evicted == [tile(2)])
    #expect(try store.entry(tile(0)) != nil && store.entry(tile(1)) != nil && store.entry(tile(2)) == nil)
  }

  @Test("The order firstIn evicts the oldest entry, even if it was used", arguments: StoreKind.allCases)
  func firstIn(_ kind: StoreKind) throws {
    let store = try filled(kind, DiskCache.Limits(count: 3, order: .firstIn), 0..<3)
    try store.touch([(tile(0), 5000)])
    #expect(try store.store(tile(3), makeEntry(3)).evicted == [tile(0)])
  }

  @Test("Uses in a batch count by their times, and a key's latest wins", arguments: StoreKind.allCases)
  func uses(_ kind: StoreKind) throws {
    let store = try filled(kind, DiskCache.Limits(count: 4, slack: .minimalPurge(3)), 0..<4)
    try store.touch([(tile(2), 30), (tile(0), 10), (tile(1), 20), (tile(0), 40), (tile(9), 50)])
    #expect(try store.store(tile(4), makeEntry(4)).evicted == [tile(3), tile(1), tile(2)])
    var used: Int64?
    try store.forEachSized(nil) { key, _, size in if key == tile(0) { used = size.lastUsed } }
    #expect(used == 40)
  }

  /// Promises: R-28
  @Test("With a minimal purge of 100, the 1001st of a thousand leaves 901", arguments: StoreKind.allCases)
  func minimalPurge(_ kind: StoreKind) throws {
    let limits = DiskCache.Limits(bytes: nil, count: 1000, slack: .minimalPurge(100))
    let folder = try TemporaryFolder()
    let store = try kind.open(folder, limits: limits)
    try store.store((0..<1000).map { (tile($0), makeEntry($0, size: 50)) })
    #expect(try store.total().count == 1000)
    try store.touch((0..<50).map { (tile($0), Int64($0)) })
    let report = try store.store(tile(1000), makeEntry(1000))
    #expect(report.evicted == (50..<150).map { tile($0) })
    #expect(try store.total().count == 901)
  }

  /// Promises: R-28
  @Test(
    "An eviction stops at the low mark or after 64 additional entries",
    arguments: StoreKind.allCases)
  func lowMark(_ kind: StoreKind) throws {
    let few = try filled(kind, DiskCache.Limits(count: 100), 0..<100)
    #expect(try few.store(tile(100), makeEntry(100)).evicted.count == 11)
    #expect(try few.total().count == 90)
    let folder = try TemporaryFolder()
    let many = try kind.open(folder, limits: DiskCache.Limits(bytes: nil, count: 2000))
    try many.store((0..<2000).map { (tile($0), makeEntry($0, size: 50)) })
    #expect(try many.store(tile(2000), makeEntry(2000)).evicted.count == 65)
    #expect(try many.store(tile(2001), makeEntry(2001)).evicted.isEmpty)
  }

  @Test(
    "Pinned entries stay and do not count until their last pin is removed", arguments: StoreKind.allCases
  )
  func pins(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(
      folder, limits: DiskCache.Limits(count: 3, slack: .minimalPurge(1)))
    try store.pin((0..<5).map { tile($0) }, by: "Oslo")
    try store.pin([tile(0)], by: "Home")
    for number in 0..<10 { try store.store([(tile(number), makeEntry(number))]) }
    let total = try store.total()
    #expect(total.count == 8 && total.pinnedCount == 5 && total.pinnedBytes == total.bytes / 8 * 5)
    for number in [0, 1, 2, 3, 4, 7, 8, 9] { #expect(try store.entry(tile(number)) != nil) }
    #expect(try store.entry(tile(5)) == nil)
    try store.unpin([tile(4)], by: "Oslo")
    #expect(try store.total().pinnedCount == 4 && store.total().count == 7, "one had to go")
    try store.unpin(nil, by: "Oslo")
    #expect(try store.total().pinnedCount == 1 && store.total().count == 4)
    #expect(try store.entry(tile(0)) != nil, "somebody else holds it")
    try store.unpin(nil, by: "Home")
    #expect(try store.total().count == 3 && store.total().pinnedCount == 0)
    try store.unpin(nil, by: "nobody")
  }

  @Test("An entry that is too large is refused, and the earlier one stays", arguments: StoreKind.allCases)
  func tooLarge(_ kind: StoreKind) throws {
    let limits = DiskCache.Limits(bytes: 10 << 20, largestEntry: 100_000)
    let folder = try TemporaryFolder()
    let store = try kind.open(folder, limits: limits)
    try store.store([(tile(1), makeEntry(1))])
    let report = try store.store([(tile(1), makeEntry(2, size: 200_000)), (tile(2), makeEntry(3))])
    #expect(report.refused == [tile(1): .tooLarge] && report.stored == 1)
    #expect(try store.entry(tile(1)) == makeEntry(1) && store.entry(tile(2)) == makeEntry(3))
    try store.pin([tile(3)], by: "region")
    #expect(try store.store(tile(3), makeEntry(2, size: 200_000)).stored == 1, "what is pinned may be larger")
  }

  @Test("Lower limits are enforced at once, even when opening a store", arguments: StoreKind.allCases)
  func lowerLimits(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder, limits: DiskCache.Limits(bytes: nil))
    try store.store((0..<3000).map { (tile($0), makeEntry($0, size: 400)) })
    #expect(try store.apply(DiskCache.Limits(count: 1500, slack: .minimalPurge(1))).count == 1500)
    #expect(try store.total().count == 1500)
    try store.close()
    let again = try kind.open(folder, limits: DiskCache.Limits(count: 10, slack: .minimalPurge(1)))
    #expect(try again.total().count == 10)
    #expect(try again.entry(tile(2999)) == makeEntry(2999, size: 400))
  }

  /// Promises: B-19c
  @Test(
    "Fifty megabytes never exceed a limit of ten, and pinned entries stay",
    arguments: StoreKind.allCases)
  func budget(_ kind: StoreKind) throws {
    let limit: Int64 = 10 << 20
    let folder = try TemporaryFolder()
    let store = try kind.open(folder, limits: DiskCache.Limits(bytes: limit))
    let pinned = (0..<20).map { tile($0 + 100_000) }
    try store.pin(pinned, by: "region")
    try store.store(pinned.enumerated().map { ($1, makeEntry($0, size: 15_360)) })
    let pinnedDisk = try store.total().pinnedBytes
    var generator = SystemRandomNumberGenerator()
    for batch in 0..<60 {
      let entries = (0..<64).map { number in
        let size = number % 20 == 0 ? 150_000 : Int.random(in: 200...22_000, using: &generator)
        return (key: tile(batch * 50 + number), entry: makeEntry(batch * 64 + number, size: size))
      }
      #expect(try store.store(entries).refused.isEmpty)
      let total = try store.total()
      #expect(total.bytes - total.pinnedBytes <= limit)
      #expect(try folder.diskUse() <= limit + pinnedDisk, "after batch \(batch)")
    }
    for (number, key) in pinned.enumerated() {
      #expect(try store.entry(key) == makeEntry(number, size: 15_360))
    }
    #expect(try store.total().bytes > limit / 2, "what fits is kept")
  }
}
