import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// A random life of a folder: two handles, shared bytes, confirmations, stages, limits, full disks, copies and damage.
private struct History {
  private var generator: SeededGenerator
  private let kind: StoreKind
  private let place: Comment
  private let root: TemporaryFolder
  private var folder: TemporaryFolder
  private var handles: [any DiskCache.Store] = []
  private let failing = Locked(0)
  private var limit = 12
  /// The entries, least recently used first.
  private var entries: [(key: ResourceKey, entry: CacheEntry)] = []
  private var pins: [String: Set<ResourceKey>] = [:]
  private let keys =
    (0..<10).map { tile($0) } + (0..<6).map { tile($0, "topo") }
    + (0..<6).map { ResourceKey("api", path: "item/\($0)") }

  init(_ kind: StoreKind, seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    self.kind = kind
    place = "seed \(seed), \(kind.rawValue)"
    root = try TemporaryFolder()
    folder = root
    try open()
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

  private mutating func open() throws {
    var options = DiskCache.Options(limits: limits)
    options.isDiskFull = { [failing] in
      failing.change { $0 -= 1 }
      return failing.value == 0
    }
    handles = []
    for _ in 0..<2 { handles.append(try kind.open(folder, options)) }
  }

  private var limits: DiskCache.Limits { DiskCache.Limits(bytes: nil, count: limit, slack: .minimalPurge(1)) }

  private mutating func pick() -> (key: ResourceKey, store: any DiskCache.Store, holder: String) {
    let key = keys[number(0...keys.count - 1)]
    return (key, handles[number(0...1)], Bool.random(using: &generator) ? "a" : "b")
  }

  /// Returns an entry of one of a few contents, so that many keys share one.
  private mutating func content(at time: Int) -> CacheEntry {
    let sizes = [0, 40, 700, 5000, 20_000, 110_000]
    let size = sizes[number(0...5)]
    var entry = makeEntry(number(0...2), size: size, at: Int64(time))
    entry.metadata.fields[.eTag] = "\"\(time)\""
    if number(0...3) == 0 {
      let text = "hut \(number(0...1)) "
      entry.body = Data(String(repeating: text, count: size / 6).utf8)
      entry.metadata.cameCoded = true
    }
    return entry
  }

  private func isPinned(_ key: ResourceKey) -> Bool { pins.values.contains { $0.contains(key) } }

  private mutating func forget(_ key: ResourceKey) { entries.removeAll { $0.key == key } }

  private mutating func note(_ key: ResourceKey, _ entry: CacheEntry) {
    forget(key)
    entries.append((key, entry))
  }

  private mutating func trim(keeping kept: Set<ResourceKey> = []) {
    while entries.count(where: { !isPinned($0.key) }) > limit {
      guard let place = entries.firstIndex(where: { !isPinned($0.key) && !kept.contains($0.key) }) else {
        return
      }
      entries.remove(at: place)
    }
  }

  mutating func run() throws {
    for step in 0..<150 {
      try act(step)
      try check("\(place), step \(step)")
    }
    let total = try handles[0].total()
    let garbage = try handles[1].collectGarbage()
    #expect(try handles[0].total() == total, place)
    if kind == .sqlite { #expect(garbage.removedFiles == 0, place) }
    try checkBodies()
  }

  private mutating func act(_ step: Int) throws {
    let (key, store, holder) = pick()
    switch number(0...19) {
    case 0...5: try put(store, step)
    case 6, 7: try confirm(key, store, step)
    case 8:
      try store.touch([(key, Int64(step))])
      if let entry = entries.first(where: { $0.key == key })?.entry { note(key, entry) }
    case 9:
      try store.remove([key])
      forget(key)
    case 10, 11:
      try store.pin([key], by: holder)
      pins[holder, default: []].insert(key)
    case 12:
      let all = Bool.random(using: &generator)
      try store.unpin(all ? nil : [key], by: holder)
      if all { pins[holder] = nil } else { pins[holder]?.remove(key) }
      trim()
    case 13: try stage(key, store, step)
    case 14:
      limit = number(1...14)
      for handle in handles { try handle.apply(limits) }
      trim()
    case 15: try failOnce(key, store, step)
    case 16: try damage()
    case 17:
      _ = try store.collectGarbage()
    case 18:
      for handle in handles { try handle.close() }
      try open()
    default: try crash()
    }
  }

  private mutating func put(_ store: any DiskCache.Store, _ step: Int) throws {
    let count = number(1...min(4, limit))
    var batch: [(key: ResourceKey, entry: CacheEntry)] = []
    for place in 0..<count {
      let key = keys[number(0...keys.count - 1)]
      if batch.contains(where: { $0.key == key }) { continue }
      batch.append((key, content(at: step * 10 + place)))
    }
    let report = try store.store(batch)
    #expect(report.stored == batch.count, place)
    for (key, entry) in batch { note(key, entry) }
    trim(keeping: Set(batch.map(\.key)))
  }

  private mutating func confirm(_ key: ResourceKey, _ store: any DiskCache.Store, _ step: Int) throws {
    guard var entry = entries.first(where: { $0.key == key })?.entry else { return }
    entry.metadata.validatedAt += 7
    #expect(try store.store(key, entry).unchanged == [key], place)
    note(key, entry)
  }

  /// Stores a version under another source, pinned, and moves it to its key, as a refresh of a region does.
  private mutating func stage(_ key: ResourceKey, _ store: any DiskCache.Store, _ step: Int) throws {
    let stage = ResourceKey("stage:x", path: "staged \(step)")
    let entry = content(at: step * 10)
    try store.pin([stage], by: "stage:x")
    try store.store([(stage, entry)])
    if Bool.random(using: &generator) {
      try store.store([(key, entry)])
      note(key, entry)
      trim(keeping: [key])
    }
    try store.removeAll("stage:x")
    try store.unpin(nil, by: "stage:x")
  }

  /// Fails one commit or file for lack of space. What is found afterwards must be the old entry, the new one or none.
  private mutating func failOnce(_ key: ResourceKey, _ store: any DiskCache.Store, _ step: Int) throws {
    let entry = content(at: step * 10)
    let before = entries
    let call = number(1...4)
    failing.change { $0 = call }
    let report = try store.store([(key, entry)])
    failing.change { $0 = 0 }
    #expect(report.stored + report.refused.count == 1, place)
    entries = []
    for (known, old) in before where known != key {
      // A full disk evicts others.
      if let found = try store.entry(known) {
        try #require(found == old, place)
        entries.append((known, old))
      } else {
        #expect(!isPinned(known), place)
      }
    }
    let old = before.first { $0.key == key }?.entry
    guard let found = try store.entry(key) else {
      #expect(report.stored == 0, place)
      return
    }
    try #require(found == entry || report.stored == 0 && found == old, place)
    // The old entry keeps its place in the order of eviction, which the next use decides anew.
    try store.touch([(key, Int64(step))])
    note(key, found)
    trim(keeping: [key])
  }

  /// Flips a byte of a file. Entries with its bytes are no longer found, and no other changes.
  private mutating func damage() throws {
    let files = try folder.files().keys.filter { $0.contains("/bodies/") || $0.contains("/tiledb/") }.sorted()
    guard !files.isEmpty else { return }
    let path = folder.path + "/" + files[number(0...files.count - 1)]
    var bytes = try Data(contentsOf: URL(filePath: path))
    guard !bytes.isEmpty else { return }
    bytes[bytes.count / 3] ^= 4
    try bytes.write(to: URL(filePath: path))
    for (key, entry) in entries {
      if let found = try handles[0].entry(key) { try #require(found == entry, place) } else { forget(key) }
    }
  }

  /// Continues with a copy of the folder that was made without closing, as it lies after a crash.
  private mutating func crash() throws {
    let copy = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: folder.path + "/store", toPath: copy.path + "/store")
    for handle in handles { try handle.close() }
    folder = copy
    try open()
  }

  private func check(_ place: Comment) throws {
    for key in keys {
      let expected = entries.first { $0.key == key }?.entry
      try #require(try handles[0].entry(key) == expected, "\(place), \(key)")
      try #require(try handles[1].metadata(key) == expected?.metadata, "\(place), \(key)")
    }
    let total = try handles[0].total()
    try #require(total.count == entries.count, place)
    try #require(total.pinnedCount == entries.count { isPinned($0.key) }, place)
    var sum: Int64 = 0
    try handles[1].forEach(nil) { _, _, bytes in sum += bytes }
    try #require(sum == total.bytes, place)
    for holder in ["a", "b"] {
      let held = pins[holder] ?? []
      try #require(try handles[0].pinCount(by: holder) == held.count, place)
      try #require(
        try handles[0].totals(heldBy: holder).count == entries.count { held.contains($0.key) }, place)
    }
  }

  /// Equal large bytes have one file, and no file is left over.
  private func checkBodies() throws {
    guard kind == .sqlite else { return }
    let files = try folder.files().keys.filter { $0.contains("/bodies/") }
    let large = Set(
      entries.map(\.entry).filter { $0.body.count > 96 << 10 && !$0.metadata.cameCoded }.map(\.body))
    #expect(files.count == large.count, place)
  }
}

@Suite("Histories of a folder", .timeLimit(.minutes(15)))
struct StoreHistoryTests {
  /// Promises: E-8, E-28, B-19c, R-10
  @Test(
    "Any history of two handles, crashes and damage leaves the entries of a model",
    arguments: StoreKind.allCases)
  func histories(_ kind: StoreKind) throws {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["BOTHY_SEED"].flatMap(UInt64.init) {
      var history = try History(kind, seed: seed)
      return try history.run()
    }
    let count = environment["BOTHY_SEEDS"].flatMap(UInt64.init).map { max(2, $0 / 100) } ?? 12
    for _ in 0..<count {
      var history = try History(kind, seed: UInt64.random(in: 0...UInt64(UInt32.max)))
      try history.run()
    }
  }
}
