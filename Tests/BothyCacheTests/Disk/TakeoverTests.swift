import BothyCache
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

/// An index of format 1 or 2, as earlier versions wrote them.
private struct EarlierIndex {
  private let queue: DatabaseQueue
  private let version: Int
  private var count: Int64 = 0

  /// The pins of format 1, which have their sources and names in the rows of entries.
  private static let firstPins = """
    CREATE TABLE pin (entry INTEGER NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (entry, holder)) WITHOUT ROWID, STRICT;
    """
  private static let pins = """
    CREATE TABLE pin (
      entry INTEGER NOT NULL, holder INTEGER NOT NULL, source INTEGER NOT NULL, name ANY NOT NULL,
      PRIMARY KEY (entry, holder)
    ) WITHOUT ROWID, STRICT;
    """
  private static let tables = """
    CREATE TABLE state (
      id INTEGER PRIMARY KEY CHECK (id = 0), rank INTEGER NOT NULL, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      folders INTEGER NOT NULL, complete INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (0, 0, 0, 0, 0, 1);
    CREATE TABLE source (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, bytes INTEGER NOT NULL,
      pinnedCount INTEGER NOT NULL, pinnedBytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entry (
      id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL, bytes INTEGER NOT NULL,
      rank INTEGER NOT NULL, used INTEGER NOT NULL, received INTEGER NOT NULL, pinned INTEGER NOT NULL,
      size INTEGER NOT NULL, checksum INTEGER NOT NULL, body INTEGER, metadata BLOB
    ) STRICT;
    CREATE INDEX entry_rank ON entry (rank) WHERE pinned = 0;
    CREATE TABLE body (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, checksum INTEGER NOT NULL, data BLOB NOT NULL)
      STRICT;
    CREATE INDEX body_checksum ON body (checksum) WHERE size <= 4096;
    CREATE TABLE shared (body INTEGER PRIMARY KEY, uses INTEGER NOT NULL) STRICT;
    CREATE TABLE holder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE loose (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name ANY NOT NULL) STRICT;
    INSERT INTO source VALUES (1, 'osm', 0, 0, 0, 0);
    INSERT INTO holder VALUES (1, 'region');
    PRAGMA application_id = \(0x4274_7931);
    """

  init(_ path: String, version: Int = 2) throws {
    self.version = version
    queue = try DatabaseQueue(path: path)
    let tables = """
      PRAGMA page_size = 8192; \(Self.tables) \(version == 1 ? Self.firstPins : Self.pins)
      CREATE INDEX pin_holder ON pin (holder); PRAGMA user_version = \(version);
      """
    try queue.writeWithoutTransaction { try $0.execute(sql: tables) }
  }

  private static func source() -> UInt64 { XXH64.hash(Array("osm".utf8)) }

  private static func bits(_ number: Int) -> UInt64 {
    16 << 58 | UInt64(number / 256) << 29 | UInt64(number % 256)
  }

  /// Returns the number of an entry. From format 2 on, its lowest bits are the variant.
  private func number(_ bits: UInt64) -> Int64 {
    let hash = withUnsafeBytes(of: bits.littleEndian) { XXH64.hash($0, seed: Self.source()) }
    return Int64(bitPattern: version == 1 ? hash : hash & ~3)
  }

  /// Writes the entry of `tile(number)`, with the row of an equal body if another entry has it.
  mutating func add(_ number: Int, _ entry: CacheEntry, sharing body: Int64? = nil, isPinned: Bool = false)
    throws
    -> Int64
  {
    count += 1
    let checksum = StoredDigest(of: entry.body).checksum
    // The checksum at the end of the metadata covers the bytes and the source too.
    var metadata = [UInt8](entry.metadata.encoded.dropLast(8))
    let sum = XXH64.hash(metadata, seed: Self.source() ^ checksum)
    withUnsafeBytes(of: sum.littleEndian) { metadata.append(contentsOf: $0) }
    let (bits, rank) = (Int64(bitPattern: Self.bits(number)), count)
    let row = body ?? rank
    let (key, isFirst) = (self.number(Self.bits(number)), version == 1)
    try queue.write { database in
      if body == nil {
        try database.execute(
          sql: "INSERT INTO body VALUES (?, ?, ?, ?)",
          arguments: [row, entry.body.count, Int64(bitPattern: checksum), entry.body])
      } else {
        try database.execute(
          sql: "INSERT INTO shared VALUES (?, 2) ON CONFLICT (body) DO UPDATE SET uses = uses + 1",
          arguments: [row])
      }
      try database.execute(
        sql: "INSERT INTO entry VALUES (?, 1, ?, 500, ?, 7, 5, ?, ?, ?, ?, ?)",
        arguments: [
          key, bits, rank, isPinned, entry.body.count, Int64(bitPattern: checksum), row, Data(metadata),
        ])
      if isPinned {
        try database.execute(
          sql: isFirst ? "INSERT INTO pin VALUES (?, 1)" : "INSERT INTO pin VALUES (?, 1, 1, ?)",
          arguments: StatementArguments(isFirst ? [key] : [key, bits]))
      }
      try database.execute(sql: "UPDATE state SET rank = ?", arguments: [rank])
    }
    return row
  }

  func close() throws { try queue.close() }
}

@Suite("Files of the earlier format", .timeLimit(.minutes(5)))
struct TakeoverTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/store/cache.sqlite" }

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/store", withIntermediateDirectories: true)
    try write(version: 2)
  }

  /// Writes the file of an earlier format.
  private func write(version: Int) throws {
    var earlier = try EarlierIndex(path, version: version)
    var shared: Int64?
    for number in 0..<400 {
      let isShared = number % 10 == 0
      let row = try earlier.add(
        number, entry(number), sharing: isShared ? shared : nil, isPinned: number < 100)
      if isShared, shared == nil { shared = row }
    }
    try earlier.close()
  }

  private func entry(_ number: Int) -> CacheEntry {
    var entry = makeEntry(number, size: 40 + number * 100)
    if number % 10 == 0 { entry.body = makeEntry(-1, size: 2000).body }
    return entry
  }

  private func check(_ store: any DiskCache.Store) throws {
    for number in 0..<400 { #expect(try store.entry(tile(number)) == entry(number), "\(number)") }
    #expect(try store.total().count == 400 && store.total().pinnedCount == 100)
    #expect(try store.pinCount(by: "region") == 100 && store.isPinned(tile(99)) && !store.isPinned(tile(100)))
  }

  /// Promises: A-45
  @Test("A file is taken over with its pins and its order of eviction")
  func takenOver() throws {
    let log = Received<DiskCache.Event>()
    var options = DiskCache.Options(limits: DiskCache.Limits(bytes: nil), onEvent: log.append)
    var store = try StoreKind.sqlite.open(folder, options)
    try check(store)
    #expect(log.values.isEmpty)
    #expect(try folder.files().keys.allSatisfy { !$0.contains("corrupt") })
    try store.close()
    store = try StoreKind.sqlite.open(folder, options)
    try check(store)
    try store.close()
    options.limits = DiskCache.Limits(bytes: nil, count: 50, slack: .minimalPurge(1))
    store = try StoreKind.sqlite.open(folder, options)
    for number in 100..<400 { #expect(try (store.entry(tile(number)) != nil) == (number >= 350)) }
    let total = try store.total()
    _ = try store.collectGarbage()
    #expect(try store.total() == total && total.count == 150)
  }

  @Test("A file of format 1, whose pins have no names, keeps its pins")
  func first() throws {
    try FileManager.default.removeItem(atPath: path)
    try write(version: 1)
    let log = Received<DiskCache.Event>()
    let options = DiskCache.Options(limits: DiskCache.Limits(bytes: nil), onEvent: log.append)
    let store = try StoreKind.sqlite.open(folder, options)
    try check(store)
    #expect(log.values.isEmpty)
    try store.close()
  }

  @Test("A takeover that was interrupted is continued by the next opening", arguments: 1...6)
  func killed(_ step: Int) throws {
    let calls = Locked(0)
    var options = DiskCache.Options(limits: DiskCache.Limits(bytes: nil))
    options.isTakeoverStopped = {
      calls.change { $0 += 1 }
      return calls.value == step
    }
    #expect(throws: (any Error).self) { try StoreKind.sqlite.open(folder, options) }
    try check(try StoreKind.sqlite.open(folder, limits: DiskCache.Limits(bytes: nil)))
  }

  @Test("A shipped file is read as it is")
  func shipped() throws {
    let bundle = try BundledFile(path)
    for number in 0..<400 {
      #expect(try bundle.entry(tile(number)) == entry(number))
      #expect(try bundle.metadata(tile(number)) == entry(number).metadata)
    }
    #expect(try bundle.entry(tile(400)) == nil)
  }
}
