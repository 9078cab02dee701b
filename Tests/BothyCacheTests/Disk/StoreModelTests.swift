import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// A minimal model of a store: entries in the order of their last use.
private struct Model {
  var limit: Int
  var entries: [(key: ResourceKey, entry: CacheEntry)] = []
  var pins: [String: Set<ResourceKey>] = [:]

  func isPinned(_ key: ResourceKey) -> Bool { pins.values.contains { $0.contains(key) } }
  mutating func remove(_ key: ResourceKey) { entries.removeAll { $0.key == key } }
  mutating func trim(keeping kept: ResourceKey? = nil) {
    while entries.count(where: { !isPinned($0.key) }) > limit {
      guard let place = entries.firstIndex(where: { !isPinned($0.key) && $0.key != kept }) else { return }
      entries.remove(at: place)
    }
  }
  mutating func store(_ key: ResourceKey, _ entry: CacheEntry) {
    remove(key)
    entries.append((key, entry))
    trim(keeping: key)
  }
  mutating func touch(_ key: ResourceKey) {
    guard let place = entries.firstIndex(where: { $0.key == key }) else { return }
    entries.append(entries.remove(at: place))
  }
}

@Suite("Stores against a model", .timeLimit(.minutes(15)))
struct StoreModelTests {
  @Test("Any history of calls leaves the entries of the model", arguments: StoreKind.allCases)
  func histories(_ kind: StoreKind) throws {
    let count =
      ProcessInfo.processInfo.environment["BOTHY_SEEDS"].flatMap(UInt64.init).map { max(2, $0 / 100) } ?? 12
    for _ in 0..<count { try history(kind, seed: UInt64.random(in: 0...UInt64(UInt32.max))) }
  }

  private func history(_ kind: StoreKind, seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    var model = Model(limit: Int.random(in: 1...12, using: &generator))
    var limits: DiskCache.Limits { DiskCache.Limits(count: model.limit, slack: .minimalPurge(1)) }
    var store = try kind.open(folder, limits: limits)
    let keys = (0..<12).map { tile($0) } + (0..<12).map { ResourceKey("api", path: "item/\($0)") }
    for step in 0..<120 {
      guard let key = keys.randomElement(using: &generator) else { return }
      let holder = Bool.random(using: &generator) ? "a" : "b"
      switch Int.random(in: 0..<16, using: &generator) {
      case 0..<7:
        let sizes = [0, 10, 700, 5000, 20_000, 110_000]
        let number = Int.random(in: 0..<3, using: &generator)
        let entry = makeEntry(number, size: sizes.randomElement(using: &generator) ?? 0)
        try store.store([(key, entry)])
        model.store(key, entry)
      case 7, 8:
        try store.touch([(key, Int64(step))])
        model.touch(key)
      case 9:
        try store.remove([key])
        model.remove(key)
      case 10, 11:
        try store.pin([key], by: holder)
        model.pins[holder, default: []].insert(key)
      case 12:
        let all = Bool.random(using: &generator)
        try store.unpin(all ? nil : [key], by: holder)
        if all { model.pins[holder] = nil } else { model.pins[holder]?.remove(key) }
        model.trim()
      case 13:
        guard let place = model.entries.firstIndex(where: { $0.key == key }) else { break }
        model.entries[place].entry.metadata = makeEntry(step, at: Int64(step)).metadata
        let confirmed = try store.store(key, model.entries[place].entry)
        #expect(confirmed.unchanged == [key], "seed \(seed), step \(step)")
        // A file is rewritten and a row is not. Both are right, so both count as used here.
        try store.touch([(key, Int64(step))])
        model.touch(key)
      case 14:
        model.limit = Int.random(in: 1...12, using: &generator)
        try store.apply(limits)
        model.trim()
      default:
        try store.close()
        store = try kind.open(folder, limits: limits)
      }
      for key in keys {
        let expected = model.entries.first { $0.key == key }?.entry
        try #require(try store.entry(key) == expected, "seed \(seed), step \(step), \(key)")
      }
      try checkTotals(of: store, model, "seed \(seed), step \(step)")
    }
    let total = try store.total()
    _ = try store.collectGarbage()
    #expect(try store.total() == total, "seed \(seed)")
  }

  private func checkTotals(of store: any DiskCache.Store, _ model: Model, _ place: Comment) throws {
    let total = try store.total()
    try #require(total.count == model.entries.count, place)
    try #require(total.pinnedCount == model.entries.count { model.isPinned($0.key) }, place)
    for (holder, keys) in model.pins {
      let held = try store.totals(heldBy: holder)
      try #require(held.count == model.entries.count { keys.contains($0.key) }, place)
      try #require(held.bytes <= total.pinnedBytes, place)
    }
  }
}
