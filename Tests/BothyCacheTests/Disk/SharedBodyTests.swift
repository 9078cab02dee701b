import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Bytes that entries share", .timeLimit(.minutes(5)))
struct SharedBodyTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ limits: DiskCache.Limits = DiskCache.Limits(bytes: nil)) throws -> any DiskCache.Store {
    try StoreKind.sqlite.open(folder, limits: limits)
  }

  private var bodies: [String] {
    get throws { try folder.files().keys.filter { $0.contains("/bodies/") } }
  }

  /// Returns an entry with the bytes of `content` and metadata of its own.
  private func entry(_ content: Int, size: Int, at time: Int64) -> CacheEntry {
    var entry = makeEntry(content, size: size, at: time)
    entry.metadata.fields[.eTag] = "\"\(time)\""
    return entry
  }

  /// Promises: A-43
  @Test(
    "Equal bytes are stored and counted once for all keys and sources",
    arguments: [300, 5000, 40_000, 200_000])
  func once(_ size: Int) throws {
    let store = try open()
    try store.store([(tile(0), entry(1, size: size, at: 0))])
    let one = try store.total().bytes
    for number in 1..<40 {
      let source: SourceID = number % 2 == 0 ? "osm" : "topo"
      try store.store([(tile(number, source), entry(1, size: size, at: Int64(number)))])
    }
    let all = try store.total()
    #expect(all.count == 40 && all.bytes - one < 40 * 400, "each further entry counts its metadata")
    for number in 0..<40 {
      let source: SourceID = number % 2 == 0 ? "osm" : "topo"
      #expect(try store.entry(tile(number, source)) == entry(1, size: size, at: Int64(number)))
    }
    #expect(try bodies.count == (size > 100_000 ? 1 : 0))
    try store.close()
    #expect(try folder.diskUse() < Int64(2 * size) + 200_000)
  }

  /// Promises: A-43
  @Test("An eviction or removal of one key keeps the bytes for others", arguments: [300, 40_000, 200_000])
  func kept(_ size: Int) throws {
    let store = try open(DiskCache.Limits(bytes: nil, count: 3, slack: .minimalPurge(1)))
    for number in 0..<3 { try store.store([(tile(number), entry(1, size: size, at: Int64(number)))]) }
    let total = try store.total().bytes
    #expect(try store.store(tile(3), entry(2, size: size, at: 3)).evicted == [tile(0)])
    for number in 1..<3 {
      #expect(try store.entry(tile(number)) == entry(1, size: size, at: Int64(number)))
    }
    try store.remove([tile(1)])
    #expect(try store.entry(tile(2)) == entry(1, size: size, at: 2))
    try store.remove([tile(3)])
    #expect(try store.total().count == 1 && store.total().bytes < total)
    try store.remove([tile(2)])
    #expect(try store.total() == ResourceCache.Totals() && bodies.isEmpty)
  }

  @Test("A pin of one key holds bytes that others share", arguments: [300, 200_000])
  func pinned(_ size: Int) throws {
    let store = try open(DiskCache.Limits(bytes: nil, count: 2, slack: .minimalPurge(1)))
    try store.store([(tile(0), entry(1, size: size, at: 0))])
    try store.pin([tile(1)], by: "region")
    try store.store([(tile(1), entry(1, size: size, at: 1))])
    try store.store((2..<6).map { (tile($0), entry($0, size: size, at: Int64($0))) })
    #expect(try store.entry(tile(0)) == nil)
    #expect(try store.entry(tile(1)) == entry(1, size: size, at: 1))
    #expect(try store.totals(heldBy: "region").bytes >= size)
    try store.unpin(nil, by: "region")
    #expect(try store.total().count == 2 && store.total().pinnedBytes == 0)
  }

  /// Promises: A-44, T-24
  @Test("A confirmation writes no bytes of the resource", arguments: [4000, 15_000])
  func confirmed(_ size: Int) throws {
    let limits = DiskCache.Limits(bytes: nil)
    let entries = (0..<256).map { (key: tile($0), entry: entry($0, size: size, at: 5)) }
    var store = try open(limits)
    try store.store(entries)
    try store.close()
    store = try open(limits)
    for start in stride(from: 0, to: 256, by: 64) {
      let report = try store.store(
        entries[start..<start + 64].map { key, entry in
          var entry = entry
          entry.metadata.validatedAt += 3600_000
          return (key, entry)
        })
      #expect(report.unchanged.count == 64)
    }
    #expect(try store.store(tile(1), entries[1].entry).unchanged == [tile(1)])
    let log = try folder.files().first { $0.key.hasSuffix("cache.sqlite-wal") }?.value
    #expect(try #require(log) < 400_000, "of \(256 * size) bytes")
    #expect(try store.entry(tile(1)) == entries[1].entry)
    #expect(try store.metadata(tile(2))?.validatedAt == 3600_005)
  }

  @Test("Many small bodies take little more than their size")
  func packed() throws {
    let store = try open()
    var size = 0
    for start in stride(from: 0, to: 4000, by: 50) {
      try store.store(
        (start..<start + 50).map { number in
          let length = 100 + number * 37 % 1800
          size += length
          return (tile(number), makeEntry(number, size: length))
        })
    }
    for number in 4000..<4400 {
      size += 300
      try store.store([(tile(number), makeEntry(number, size: 300))])
    }
    try store.close()
    #expect(try folder.diskUse() < Int64(size + size / 4 + 4400 * 30))
  }

  @Test("Pages whose bodies are gone are joined, and the file stays small")
  func joined() throws {
    let store = try open(DiskCache.Limits(bytes: nil, count: 100, slack: .minimalPurge(1)))
    for start in stride(from: 0, to: 6000, by: 20) {
      // One entry of each page stays.
      try store.pin([tile(start)], by: "region")
      try store.store((start..<start + 20).map { (tile($0), makeEntry($0, size: 1500)) })
    }
    var found = 0
    for number in 0..<6000 {
      guard let entry = try store.entry(tile(number)) else { continue }
      #expect(entry == makeEntry(number, size: 1500))
      found += 1
    }
    #expect(found == 400)
    _ = try store.collectGarbage()
    try store.close()
    #expect(try folder.diskUse() < 400 * 1500 * 2 + 300_000)
  }

  /// Promises: A-46, E-27
  @Test("Bytes that came coded are packed, and are handed out with their coding")
  func coded() throws {
    let store = try open()
    let text = Data(String(repeating: "{\"name\": \"hut\"}, ", count: 3000).utf8)
    var entry = CacheEntry(metadata: makeEntry(1).metadata, body: text)
    entry.metadata.cameCoded = true
    var short = entry
    short.body = Data("{}".utf8)
    let noise = CacheEntry(metadata: entry.metadata, body: makeEntry(3, size: 9000).body)
    try store.store([(tile(1), entry), (tile(2), short), (tile(3), noise)])
    #expect(try store.total().bytes < 20_000)
    for (number, expected) in [(1, entry), (2, short), (3, noise)] {
      #expect(try store.entry(tile(number)) == expected)
      #expect(try store.metadata(tile(number)) == expected.metadata)
    }
    #expect(try store.digests([tile(1), tile(3)]) == [StoredDigest(of: text), StoredDigest(of: noise.body)])
    let coded = try #require(try store.codedEntry(tile(1)))
    #expect(coded.metadata.fields[.contentEncoding] == "gzip" && coded.body.count < 2000)
    #expect(coded.body.starts(with: [0x1F, 0x8B]))
    #expect(
      try store.codedEntry(tile(3)) == noise
        && store.codedEntry(tile(3))?.metadata.fields[.contentEncoding] == nil)
    var confirmed = entry
    confirmed.metadata.validatedAt += 5
    #expect(try store.store(tile(1), confirmed).unchanged == [tile(1)])
    #expect(try store.entry(tile(1))?.body == text)
    #expect(try store.store(tile(1), entry).unchanged == [tile(1)])
  }

  @Test("A damaged file of shared bytes is returned for no key")
  func damaged() throws {
    let store = try open()
    for number in 0..<3 { try store.store([(tile(number), entry(1, size: 200_000, at: 0))]) }
    let path = try folder.path + "/" + #require(bodies.first)
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[700] ^= 1
    try bytes.write(to: URL(filePath: path))
    #expect(try store.entry(tile(0)) == nil && store.entry(tile(1)) == nil)
    try store.store([(tile(0), entry(1, size: 200_000, at: 9))])
    #expect(try store.entry(tile(0)) == entry(1, size: 200_000, at: 9))
    #expect(try store.verify { _ in }.damaged.count <= 1)
    #expect(try store.collectGarbage().removedFiles == 0)
    #expect(try store.total().count == store.verify { _ in }.checked)
  }

  @Test("A folder of files is taken over, and entries move when they are replaced")
  func takenOver() throws {
    let place = URL(filePath: folder.path)
    let files = try DiskCache.folder(place).open()
    try files.store((0..<20).map { (tile($0), makeEntry($0)) })
    try files.pin([tile(3)], by: "region")
    try files.close()
    let store = try DiskCache.sqliteFile(in: place).open()
    for number in 0..<20 { #expect(try store.entry(tile(number)) == makeEntry(number)) }
    #expect(try store.isPinned(tile(3)) && store.total().count == 20)
    #expect(try store.store(tile(4), makeEntry(4)).unchanged == [tile(4)])
    try store.store([(tile(5), makeEntry(55))])
    #expect(try store.entry(tile(4)) == makeEntry(4) && store.entry(tile(5)) == makeEntry(55))
    #expect(try folder.files().keys.filter { $0.contains("tiledb/") }.count == 18)
    try store.close()
    let again = try DiskCache.folder(place).open()
    for number in 0..<20 where number != 5 { #expect(try again.entry(tile(number)) == makeEntry(number)) }
    #expect(try again.entry(tile(5)) == makeEntry(55))
    #expect(try again.collectGarbage().removedFiles == 0 && again.total().count == 20)
  }
}
