import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Metadata in rows", .timeLimit(.minutes(5)))
struct RowMetadataTests {
  private func random(_ generator: inout SeededGenerator) -> EntryMetadata {
    func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &generator) }
    func often() -> Bool { Bool.random(using: &generator) }
    let times: [ClosedRange<Int64>] = [0...0, -5...5, 1_600_000_000_000...1_800_000_000_000, .min ... .max]
    let received = number(times[Int(number(0...3))])
    var fields: HTTPFields = [:]
    let values = [
      "\"5e1f3b2a\"", "\"5e1f3b2\"", "W/\"abc\"", "\"\"", "", "\"ABCDEF\"", "Tue, 14 Nov 2023 22:13:20 GMT",
      "tue, 14 Nov 2023 22:13:20 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "max-age=\(number(0...9))",
      "image/png",
      String(repeating: "x", count: Int(number(0...600))), "ünïcode",
    ]
    let names: [HTTPField.Name] = [
      .eTag, .date, .lastModified, .expires, .cacheControl, .contentType, .server, .vary, .age,
    ]
    for name in names where often() {
      fields.append(HTTPField(name: name, value: values[Int(number(0...12))]))
    }
    if often() { fields.append(HTTPField(name: .cacheControl, value: "no-transform")) }
    var metadata = EntryMetadata(
      status: Int(number(100...599)), fields: fields, requestedAt: received &- number(-10...100_000),
      receivedAt: received, validatedAt: number(times[Int(number(0...3))]),
      freshness: FreshnessMetadata(
        lifetime: number(-5...10_000_000_000), initialAge: number(0...100_000),
        createdAt: often() ? number(times[2]) : nil, staleWhileRevalidate: number(0...5),
        origin: FreshnessMetadata.Origin(rawValue: UInt8(number(0...4))) ?? .none,
        flags: FreshnessMetadata.Flags(rawValue: UInt8(number(0...7)))))
    if often() { metadata.variedOn = [VariedField(name: "accept", value: often() ? "a/b" : nil)] }
    if often() { metadata.expiresAt = number(times[3]) }
    if often() { metadata.valueType = "Menu" }
    metadata.formatVersion = Int(number(0...3))
    metadata.cameCoded = often()
    return metadata
  }

  /// Promises: K-13
  @Test("Any metadata returns as it was stored", arguments: StoreKind.allCases)
  func anything(_ kind: StoreKind) throws {
    let seed = UInt64.random(in: 0...UInt64(UInt32.max))
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    var store = try kind.open(folder, limits: DiskCache.Limits(bytes: nil))
    let entries = (0..<600).map { number in
      (
        key: tile(number),
        entry: CacheEntry(metadata: random(&generator), body: makeEntry(number % 9, size: 300).body)
      )
    }
    try store.store(entries)
    for (key, entry) in entries {
      try #require(try store.entry(key) == entry, "seed \(seed), \(key)")
      try #require(try store.metadata(key) == entry.metadata, "seed \(seed), \(key)")
    }
    try store.close()
    store = try kind.open(folder)
    var seen = 0
    try store.forEach(nil) { key, metadata, _ in
      seen += 1
      if let place = entries.firstIndex(where: { $0.key == key }) {
        #expect(metadata == entries[place].entry.metadata, "seed \(seed), \(key)")
      }
    }
    #expect(seen == 600)
  }

  @Test("Fields that differ for every entry are stored too, however many there are")
  func unlike() throws {
    let folder = try TemporaryFolder()
    let store = try StoreKind.sqlite.open(folder, limits: DiskCache.Limits(bytes: nil))
    let entries = (0..<2500).map { number in
      var entry = makeEntry(number % 5, size: 200)
      entry.metadata.fields[.cacheControl] = "max-age=\(number)"
      return (key: tile(number), entry: entry)
    }
    try store.store(entries)
    for (key, entry) in entries { #expect(try store.entry(key) == entry) }
    let confirmed = CacheEntry(metadata: entries[1].entry.metadata, body: entries[2400].entry.body)
    #expect(try store.store(tile(2400), confirmed).unchanged == [tile(2400)])
    #expect(try store.metadata(tile(2400)) == confirmed.metadata)
    try store.remove(entries.prefix(2000).map(\.key))
    _ = try store.collectGarbage()
    for (key, entry) in entries.dropFirst(2000) where key != tile(2400) {
      #expect(try store.entry(key) == entry)
    }
  }
}
