import BothyCache
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

/// Tests that every store on disk passes.
@Suite("Stores on disk", .timeLimit(.minutes(5)))
struct StoreConformanceTests {
  /// Promises, K-13
  @Test(
    "A stored entry returns with its metadata, also after reopening the store",
    arguments: StoreKind.allCases)
  func roundTrip(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    var entry = makeEntry(1, size: 15_360)
    entry.metadata.fields[.lastModified] = "Tue, 15 Nov 1994 12:45:26 GMT"
    entry.metadata.fields[HTTPField.Name.contentType] = "application/json"
    entry.metadata.freshness = FreshnessMetadata(
      lifetime: 60_000, initialAge: 5, createdAt: 1_699_999_999_000, staleWhileRevalidate: 7, staleIfError: 8,
      origin: .heuristic, flags: [.noCache, .immutable])
    entry.metadata.variedOn = [VariedField(name: "accept", value: "a/b"), VariedField(name: "x", value: nil)]
    entry.metadata.expiresAt = 1_700_000_000_123
    entry.metadata.valueType = "Menu"
    entry.metadata.formatVersion = 3
    var absent = makeEntry(2, size: 0)
    absent.metadata.status = 404
    let large = makeEntry(3, size: 300_000)
    let keys = [tile(1), ResourceKey("api", path: "menu?day=1"), ResourceKey("api", path: "")]
    let report = try store.store(Array(zip(keys, [entry, absent, large])).map { (key: $0, entry: $1) })
    #expect(
      report.stored == 3 && report.refused.isEmpty && report.evicted.isEmpty && report.unchanged.isEmpty)
    try store.close()
    let again = try kind.open(folder)
    for (key, expected) in zip(keys, [entry, absent, large]) {
      #expect(try again.entry(key) == expected)
      #expect(try again.metadata(key) == expected.metadata)
    }
    #expect(try again.entry(keys[0])?.metadata.fields[.eTag] == "\"1\"")
    #expect(try again.entry(tile(2)) == nil)
    #expect(try again.entry(ResourceKey("osm", path: tile(1).path)) == nil, "a path is no tile")
    #expect(try again.total().count == 3)
  }

  @Test("A confirmed entry has new metadata, and its bytes are not new", arguments: StoreKind.allCases)
  func confirmed(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    for (number, size) in [(1, 500), (2, 200_000)] {
      let entry = makeEntry(number, size: size)
      try store.store([(tile(number), entry)])
      var confirmed = entry
      confirmed.metadata.validatedAt += 1000
      confirmed.metadata.fields[.eTag] = "\"other\""
      #expect(try store.store(tile(number), confirmed).unchanged == [tile(number)])
      #expect(try store.entry(tile(number)) == confirmed)
    }
  }

  @Test("Unchanged bytes are reported", arguments: StoreKind.allCases)
  func unchanged(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    for size in [200, 20_000, 200_000] {
      let key = ResourceKey("api", path: "size/\(size)")
      var entry = makeEntry(size, size: size)
      #expect(try store.store(key, entry).unchanged.isEmpty)
      entry.metadata.validatedAt += 1
      #expect(try store.store(key, entry).unchanged == [key])
      #expect(try store.entry(key) == entry)
      #expect(try store.store(key, makeEntry(-1, size: size)).unchanged.isEmpty)
      #expect(try store.entry(key) == makeEntry(-1, size: size))
    }
    #expect(try store.total().count == 3)
  }

  /// Promises: R-26, B-43
  @Test("Entries are removed one by one, by source and altogether", arguments: StoreKind.allCases)
  func removal(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    let sources: [SourceID] = ["osm", "topo"]
    for source in sources {
      try store.store((0..<600).map { (tile($0, source), makeEntry($0, size: $0 == 5 ? 150_000 : 300)) })
    }
    try store.pin([tile(1)], by: "region")
    try store.remove([tile(0), tile(1), tile(99_999)])
    #expect(try store.entry(tile(0)) == nil && store.entry(tile(1)) == nil)
    #expect(try store.totals()["osm"]?.count == 598)
    try store.removeAll("osm")
    #expect(try store.totals()["osm"] == nil)
    #expect(try store.entry(tile(2)) == nil && store.entry(tile(5)) == nil)
    #expect(try store.entry(tile(5, "topo")) == makeEntry(5, size: 150_000))
    #expect(try store.totals()["topo"]?.count == 600)
    try store.removeAll(nil)
    #expect(try store.total() == ResourceCache.Totals())
    try store.removeAll(nil)
    #expect(try folder.files().keys.filter { $0.contains("osm") || $0.contains("topo") }.isEmpty)
  }

  /// Promises: R-27, B-24
  @Test(
    "Entries before a time are removed, including those of unknown time", arguments: StoreKind.allCases)
  func removalByTime(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    for (number, time) in [(0, 0), (1, 1000), (2, 2000), (3, 3000), (4, 1000)] {
      try store.store([(tile(number, number == 4 ? "topo" : "osm"), makeEntry(number, at: Int64(time)))])
    }
    try store.pin([tile(1)], by: "region")
    try store.remove(receivedBefore: 2000, "osm")
    #expect(try store.entry(tile(0)) == nil, "unknown counts as oldest")
    #expect(try store.entry(tile(1)) != nil, "pinned")
    #expect(try store.entry(tile(2)) != nil, "not before, but at the time")
    #expect(try store.entry(tile(4, "topo")) != nil, "another source")
    try store.remove(receivedBefore: 3000, nil)
    #expect(try store.entry(tile(2)) == nil && store.entry(tile(4, "topo")) == nil)
    #expect(try store.total().count == 2)
  }

  @Test(
    "All entries can be listed, also by source, without counting as used",
    arguments: StoreKind.allCases)
  func inspection(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(
      folder, limits: DiskCache.Limits(count: 700, slack: .minimalPurge(1)))
    try store.store((0..<600).map { (tile($0), makeEntry($0, size: $0 == 7 ? 150_000 : 100)) })
    try store.store((0..<100).map { (ResourceKey("api", path: "item/\($0)"), makeEntry($0, size: 100)) })
    var seen: [ResourceKey: EntryMetadata] = [:]
    var bytes: Int64 = 0
    try store.forEachSized(nil) { key, metadata, size in
      seen[key] = metadata
      bytes += size.bytes
      _ = try store.metadata(key)
    }
    #expect(seen.count == 700 && seen[tile(7)] == makeEntry(7).metadata)
    #expect(try bytes == store.total().bytes)
    var count = 0
    try store.forEach("api") { key, _, _ in count += key.source == "api" ? 1 : 0 }
    #expect(count == 100)
    #expect(try store.store(tile(1000), makeEntry(1)).evicted == [tile(0)], "the first is still the oldest")
  }

  @Test("A closed store throws", arguments: StoreKind.allCases)
  func closed(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.close()
    #expect(throws: (any Error).self) { try store.entry(tile(1)) }
    #expect(throws: (any Error).self) { try store.store([(tile(1), makeEntry(1))]) }
    #expect(throws: (any Error).self) { try store.totals() }
  }
}
