import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

@Suite("Damage, full disks and other processes' writes", .timeLimit(.minutes(5)))
struct IntegrityTests {
  private func flip(_ path: String, at offset: Int) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[offset] ^= 0x10
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  /// Promises: E-8
  @Test("A file with a flipped byte is never served, is removed and reported once")
  func flippedFiles() throws {
    let folder = try TemporaryFolder()
    let log = Received<DiskCache.Event>()
    let store = try DiskStore(folder: folder.path, options: DiskCache.Options(onEvent: log.append))
    let file = folder.path + "/tiledb/osm/16/0/1%t"
    try store.store([(tile(1), makeEntry(1, size: 200))])
    let size = try #require(folder.files()["tiledb/osm/16/0/1%t"])
    for offset in 0..<size {
      try store.store([(tile(1), makeEntry(1, size: 200))])
      try flip(file, at: offset)
      let before = log.values.count
      #expect(try store.entry(tile(1)) == nil, "byte \(offset)")
      if log.values.count == before + 1 {
        #expect(log.values.last == .damaged(tile(1)))
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(try store.entry(tile(1)) == nil)
        #expect(log.values.count == before + 1)
        #expect(try store.total().count == 0)
      } else {
        // If the key was hit, the file belongs to another key, which is unknown.
        Issue.record("byte \(offset) told of nothing")
      }
    }
  }

  /// Promises: E-8, E-9
  @Test("A database with flipped bytes returns the right bytes or none, and still works")
  func flippedDatabase() throws {
    let folder = try TemporaryFolder()
    let chosen = ProcessInfo.processInfo.environment["BOTHY_SEED"].flatMap { UInt64($0) }
    let seed = chosen ?? UInt64.random(in: 0...UInt64(UInt32.max))
    var generator = SeededGenerator(seed: seed)
    let whole = folder.path + "/whole.sqlite"
    let store = try DiskStore(path: whole)
    let keys = (0..<40).map { tile($0) }
    try store.store(keys.enumerated().map { ($1, makeEntry($0, size: $0 * 400)) })
    try store.close()
    let pristine = try Data(contentsOf: URL(fileURLWithPath: whole))
    var damaged = 0
    for round in 0..<30 {
      let path = folder.path + "/\(round).sqlite"
      var bytes = pristine
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= UInt8.random(
          in: 1...255, using: &generator)
      }
      try bytes.write(to: URL(fileURLWithPath: path))
      let log = Received<DiskCache.Event>()
      let store = try DiskStore(path: path, options: DiskCache.Options(onEvent: log.append))
      for (number, key) in keys.enumerated() {
        let entry = try store.entry(key)
        #expect(
          entry == nil || entry == makeEntry(number, size: number * 400), "seed \(seed), round \(round)")
      }
      damaged += log.values.isEmpty ? 0 : 1
      let events = log.values.count
      #expect(try store.store(tile(1000), makeEntry(1)).stored == 1, "seed \(seed), round \(round)")
      if try store.entry(tile(1000)) == nil {
        // The new entry lay in a damaged place, which the look-up found and reported.
        #expect(log.values.count > events, "seed \(seed), round \(round)")
        #expect(try store.store(tile(1000), makeEntry(1)).stored == 1, "seed \(seed), round \(round)")
      }
      #expect(try store.entry(tile(1000)) == makeEntry(1), "seed \(seed), round \(round)")
      try store.close()
    }
    #expect(damaged > 8, "seed \(seed)")
  }

  /// Promises: E-9
  @Test(
    "An unusable database is quarantined and reported, and its readable entries are found again",
    arguments: StoreKind.allCases)
  func unusableDatabase(_ kind: StoreKind) throws {
    for damage in ["noise", "another program's", "a column's name", "gone"] {
      let folder = try TemporaryFolder()
      let store = try kind.open(folder)
      try store.store((0..<20).map { (tile($0), makeEntry($0)) })
      let total = try store.total()
      try store.close()
      let path = kind.index(in: folder)
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      switch damage {
      case "noise": bytes = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 37) })
      case "another program's": bytes[71] ^= 1
      case "a column's name":
        let name = try #require(bytes.range(of: Data("pinnedBytes".utf8)))
        bytes[name.lowerBound] ^= 0x10
      default: break
      }
      try FileManager.default.removeItem(atPath: path)
      if damage != "gone" { try bytes.write(to: URL(fileURLWithPath: path)) }
      let log = Received<DiskCache.Event>()
      let again = try kind.open(folder, DiskCache.Options(onEvent: log.append))
      let aside = try folder.files().keys.filter { $0.contains(".corrupt-") }
      #expect(aside.count == (damage == "gone" ? 0 : 1))
      if damage == "gone" {
        #expect(log.values.isEmpty)
      } else {
        guard case .recreated(path, let place, let reason) = log.values.first else {
          Issue.record("no event for \(damage)")
          continue
        }
        #expect(place.hasPrefix(path + ".corrupt-") && !reason.isEmpty && log.values.count == 1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: place)) == bytes, "nothing is lost that was there")
      }
      let isReadable = kind == .files || damage == "another program's"
      #expect(try again.total() == (isReadable ? total : ResourceCache.Totals()), "\(damage)")
      #expect(try again.entry(tile(3)) == (isReadable ? makeEntry(3) : nil), "\(damage)")
      try again.store([(tile(3), makeEntry(4))])
      #expect(try again.entry(tile(3)) == makeEntry(4))
      _ = try again.collectGarbage()
      #expect(try folder.files().keys.filter { $0.contains(".corrupt-") }.isEmpty)
    }
  }

  @Test("A database that is damaged under an open store is recreated", arguments: StoreKind.allCases)
  func damagedWhileOpen(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let log = Received<DiskCache.Event>()
    let store = try kind.open(folder, DiskCache.Options(onEvent: log.append))
    let other = try kind.open(folder, DiskCache.Options(onEvent: log.append))
    try store.store((0..<200).map { (tile($0), makeEntry($0, size: 5000)) })
    _ = try store.collectGarbage()
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: kind.index(in: folder)))
    for offset in stride(from: 100, to: try Int(file.seekToEnd()), by: 1000) {
      try file.seek(toOffset: UInt64(offset))
      try file.write(contentsOf: Data(repeating: 0xA5, count: 900))
    }
    try file.close()
    for number in 0..<200 {
      let entry = try store.entry(tile(number))
      #expect(entry == nil || entry == makeEntry(number, size: 5000))
    }
    #expect(try store.store(tile(1000), makeEntry(1)).stored == 1)
    #expect(try other.store(tile(1001), makeEntry(2)).stored == 1, "another process finds the new file")
    #expect(log.values.contains { if case .recreated = $0 { true } else { false } })
    #expect(try store.entry(tile(1001)) == makeEntry(2) && other.entry(tile(1000)) == makeEntry(1))
  }

  @Test("A verification reads all entries and removes damaged ones", arguments: StoreKind.allCases)
  func verification(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.store(
      (0..<300).map { (tile($0), makeEntry($0, size: $0 == 7 || kind == .files ? 120_000 : 900)) })
    let mark = kind == .files ? "/0/7%t" : "-large/bodies/"
    try flip(folder.path + "/" + #require(folder.files().keys.first { $0.contains(mark) }), at: 500)
    var steps: [Int] = []
    let report = try store.verify { steps.append($0) }
    #expect(report.checked == 300 && steps == Array(1...300) && report.damaged == [tile(7)])
    #expect(try store.verify { _ in }.damaged.isEmpty)
    #expect(try store.total().count == 299)
  }

  /// Promises: R-10
  @Test("Unfinished files are deleted when opening, and files without entries as garbage")
  func rests() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore(folder: folder.path)
    try store.store((0..<5).map { (tile($0), makeEntry($0)) })
    let total = try store.total()
    try store.close()
    try Data(count: 7000).write(to: URL(fileURLWithPath: folder.path + "/incoming/1234-5"))
    try Data(count: 900).write(to: URL(fileURLWithPath: folder.path + "/tiledb/osm/16/0/77%t"))
    try FileManager.default.copyItem(
      atPath: folder.path + "/tiledb/osm/16/0/1%t", toPath: folder.path + "/tiledb/osm/16/0/78%t")
    try FileManager.default.removeItem(atPath: folder.path + "/tiledb/osm/16/0/2%t")
    let again = try DiskStore(folder: folder.path)
    #expect(try folder.files()["incoming/1234-5"] == nil)
    #expect(try again.total() == total, "a file that is gone is still counted: too much, never too little")
    let report = try again.collectGarbage()
    #expect(report.removedFiles == 2 && report.freedBytes > 900)
    #expect(try again.total().count == 4)
    #expect(try again.entry(tile(1)) == makeEntry(1) && again.entry(tile(2)) == nil)
  }

  /// Promises: E-11, B-30, B-19a
  @Test(
    "A full disk is reported as a refusal, at whatever step it occurs",
    arguments: StoreKind.allCases)
  func fullDisk(_ kind: StoreKind) throws {
    for size in [1000, 150_000] {
      for first in 1...5 {
        let folder = try TemporaryFolder()
        let calls = Atomic<Int>(-1_000_000)
        var options = DiskCache.Options()
        options.isDiskFull = { calls.add(1, ordering: .relaxed).newValue >= first }
        let store = try kind.open(folder, options)
        try store.store((0..<10).map { (tile($0), makeEntry($0, size: size)) })
        calls.store(0, ordering: .relaxed)
        let report = try store.store([
          (tile(3), makeEntry(33, size: size)), (tile(20), makeEntry(20, size: size)),
        ])
        calls.store(-1_000_000, ordering: .relaxed)
        #expect(report.refused.values.allSatisfy { $0 == .diskFull })
        #expect(report.stored + report.refused.count == 2)
        let replaced = try store.entry(tile(3))
        #expect(replaced == makeEntry(report.refused[tile(3)] == nil ? 33 : 3, size: size) || replaced == nil)
        for number in [3, 20] {
          #expect(try store.metadata(tile(number)) == store.entry(tile(number))?.metadata)
        }
        if report.refused[tile(20)] != nil { #expect(try store.entry(tile(20)) == nil) }
        #expect(try store.store(tile(21), makeEntry(21, size: size)).stored == 1)
        let total = try store.total()
        _ = try store.collectGarbage()
        #expect(try store.total().bytes <= total.bytes, "counted too high or right, first full at \(first)")
      }
    }
  }

  /// Promises: E-28, E-29
  @Test(
    "Simultaneous writers and readers of one key never see mixed bytes",
    arguments: StoreKind.allCases)
  func mixedWriters(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let limits = DiskCache.Limits(bytes: 4 << 20, count: 20, largestEntry: 1 << 20)
    // The lock has no order, so a writer may wait long for its turn.
    let options = DiskCache.Options(limits: limits, busyTimeout: .seconds(100))
    let stores = try (0..<4).map { _ in try kind.open(folder, options) }
    try stores[0].pin([tile(1)], by: "test")
    let versions = (0..<8).map { makeEntry($0, size: 3000 + $0 * 17_000) }
    try stores[0].store([(tile(1), versions[0])])
    let failures = Mutex<[String]>([])
    let held = Mutex<[CacheEntry]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { worker in
      var generator = SeededGenerator(seed: UInt64(worker))
      do {
        for step in 0..<150 {
          if worker < 2 {
            let version = versions[Int.random(in: 0..<8, using: &generator)]
            try stores[worker].store([(tile(1), version), (tile(step + 10), versions[step % 8])])
          } else {
            guard let entry = try stores[worker].entry(tile(1)) else {
              failures.withLock { $0.append("the pinned entry was gone") }
              continue
            }
            if !versions.contains(entry) { failures.withLock { $0.append("a mix") } }
            if let other = try stores[worker].entry(tile(step + 10)) { held.withLock { $0.append(other) } }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(held.withLock { $0 }.allSatisfy { versions.contains($0) })
    #expect(try stores[3].total().count <= 21)
  }
}
