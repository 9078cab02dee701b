import BothyCache
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite("The packing of a store's table", .timeLimit(.minutes(5)))
struct PackingTests {
  private let folder: TemporaryFolder
  private static let count = 4096

  init() throws { folder = try TemporaryFolder() }

  private func open(_ options: DiskCache.Options = DiskCache.Options()) throws -> any DiskCache.Store {
    try StoreKind.sqlite.open(folder, options)
  }

  /// Returns the key of a tile. Those of 64 numbers are a square of the map.
  private func tile(_ number: Int) -> ResourceKey {
    let (square, place) = (number / 64, number % 64)
    return ResourceKey("osm", zoom: 16, x: square % 8 * 8 + place / 8, y: square / 8 * 8 + place % 8)
  }

  /// Stores tiles of a few bytes by squares, every third pinned.
  private func fill(_ store: some DiskCache.Store) throws {
    for start in stride(from: 0, to: Self.count, by: 64) {
      let batch = start..<start + 64
      try store.pin(batch.filter { $0 % 3 == 0 }.map { tile($0) }, by: "region")
      try store.store(batch.map { (tile($0), entry($0)) })
    }
  }

  /// Every tenth tile has the bytes of others.
  private func entry(_ number: Int) -> CacheEntry {
    makeEntry(number % 10 == 0 ? 1 : number + 10, size: 40, at: 1_700_000_000_000 + Int64(number))
  }

  /// Returns the file's number of pages, and a number that changes with each commit.
  private func state(_ reader: DatabaseQueue) throws -> (pages: Int, version: Int) {
    try reader.read { database in
      (
        try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0,
        try Int.fetchOne(database, sql: "PRAGMA data_version") ?? 0
      )
    }
  }

  private func check(_ store: some DiskCache.Store) throws {
    for number in 0..<Self.count {
      #expect(try store.entry(tile(number)) == entry(number))
      #expect(try store.isPinned(tile(number)) == (number % 3 == 0))
    }
  }

  @Test("A packed store has the same entries, pins and totals in fewer pages")
  func fewer() throws {
    let store = try open()
    try fill(store)
    let total = try store.total()
    let reader = try DatabaseQueue(path: StoreKind.sqlite.index(in: folder))
    let before = try state(reader).pages
    try store.pack()
    let packed = try state(reader)
    #expect(packed.pages <= before - 5, "\(before) and \(packed.pages) pages")
    #expect(try store.total() == total)
    try check(store)
    try store.pack()
    try store.close()
    #expect(try state(reader).version == packed.version, "a packed store isn't packed again")
    let again = try open()
    _ = try again.collectGarbage()
    #expect(try again.total() == total)
    try check(again)
  }

  @Test("Closing a store packs it, and an eviction follows the order of before")
  func closing() throws {
    var options = DiskCache.Options(limits: DiskCache.Limits(bytes: nil))
    let store = try open(options)
    try fill(store)
    let reader = try DatabaseQueue(path: StoreKind.sqlite.index(in: folder))
    let before = try state(reader).pages
    try store.close()
    #expect(try state(reader).pages <= before - 5)
    options.limits = DiskCache.Limits(bytes: nil, count: 2000, slack: .minimalPurge(1))
    let again = try open(options)
    // The tiles that came first and aren't pinned are gone.
    let loose = (0..<Self.count).filter { $0 % 3 != 0 }
    for (place, number) in loose.enumerated() {
      #expect(try (again.entry(tile(number)) == nil) == (place < loose.count - 2000))
    }
  }

  @Test("A few changed entries aren't packed")
  func few() throws {
    let store = try open()
    try fill(store)
    try store.pack()
    let reader = try DatabaseQueue(path: StoreKind.sqlite.index(in: folder))
    try store.store((0..<500).map { (tile($0), makeEntry($0 + 9000, size: 40)) })
    let before = try state(reader).version
    try store.pack()
    #expect(try state(reader).version == before)
    try store.store((0..<100).map { (tile($0), makeEntry($0 + 9900, size: 40)) })
    let more = try state(reader).version
    try store.pack()
    #expect(try state(reader).version != more)
  }

  @Test("A full disk leaves a store as it is")
  func full() throws {
    let isFull = Locked(false)
    var options = DiskCache.Options()
    options.isDiskFull = { isFull.value }
    let store = try open(options)
    try fill(store)
    isFull.value = true
    try store.pack()
    try check(store)
    isFull.value = false
    let reader = try DatabaseQueue(path: StoreKind.sqlite.index(in: folder))
    let before = try state(reader).pages
    try store.pack()
    #expect(try state(reader).pages <= before - 5)
    try check(store)
  }
}
