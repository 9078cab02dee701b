import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Entries of a damaged or foreign index", .timeLimit(.minutes(5)))
struct SalvageTests {
  private func execute(_ sql: String, _ path: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Overwrites the last page that is a leaf of a table.
  private func damageLeaf(_ path: String, pageSize: Int) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let leaves = stride(from: pageSize, to: bytes.count, by: pageSize).filter { bytes[$0] == 0x0D }
    let page = try #require(leaves.last)
    bytes.replaceSubrange(page..<page + pageSize, with: Data(repeating: 0xA5, count: pageSize))
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  /// Reads all entries twice, as the first read may find the damage, and returns those found.
  private func found(_ store: any DiskCache.Store, _ count: Int) throws -> [Int] {
    for number in 0..<count { _ = try store.entry(tile(number)) }
    return try (0..<count).filter { number in
      let entry = try store.entry(tile(number))
      #expect(entry == nil || entry == makeEntry(number, size: 3000))
      return entry != nil
    }
  }

  @Test("A damaged page costs its own entries alone, and pins stay", arguments: StoreKind.allCases)
  func damagedPage(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.store((0..<400).map { (tile($0), makeEntry($0, size: 3000)) })
    try store.pin((0..<200).map { tile($0) }, by: "region:a")
    try store.close()
    try damageLeaf(kind.index(in: folder), pageSize: 4096)
    let again = try kind.open(folder)
    let kept = try found(again, 400)
    // A page of the database may have the beginnings of eight pages of bodies.
    #expect(kept.count > (kind == .files ? 399 : 280), "\(kept.count)")
    _ = try again.apply(DiskCache.Limits(count: 1))
    let held = try found(again, 400)
    #expect(held.count >= kept.filter { $0 < 200 }.count - 100, "\(held.count) of pinned ones")
    try again.close()
  }

  @Test(
    "Entries and pins of an index with a wrong number are kept", arguments: StoreKind.allCases
  )
  func otherFormat(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    for version in [1, 2] {
      let store = try kind.open(folder)
      try store.store((0..<20).map { (tile($0), makeEntry($0, size: $0 == 7 ? 150_000 : 900)) })
      try store.pin([tile(3), tile(7)], by: "region:a")
      try store.close()
      try execute("PRAGMA user_version = \(version)", kind.index(in: folder))
      let log = Received<DiskCache.Event>()
      let again = try kind.open(folder, DiskCache.Options(onEvent: log.append))
      #expect(log.values.count == 1)
      for number in 0..<20 {
        #expect(try again.entry(tile(number)) == makeEntry(number, size: number == 7 ? 150_000 : 900))
      }
      #expect(try again.isPinned(tile(3)) && again.isPinned(tile(7)) && !again.isPinned(tile(4)))
      _ = try again.apply(DiskCache.Limits(count: 1))
      #expect(try again.entry(tile(3)) != nil && again.entry(tile(7)) != nil)
      try again.close()
    }
  }

  @Test("An index that is damaged while it is filled loses nothing", arguments: StoreKind.allCases)
  func damagedTwice(_ kind: StoreKind) throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    var store = try kind.open(folder)
    try store.store((0..<20).map { (tile($0), makeEntry($0)) })
    try store.pin([tile(3)], by: "region:a")
    try store.close()
    // So it is after a kill amid the copying from the quarantined index.
    let path = kind.index(in: folder)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".corrupt-1")
    let mark = URL(fileURLWithPath: path + "-salvage")
    try Data(".corrupt-1".utf8).write(to: mark)
    try kind.open(other).close()
    try execute("UPDATE state SET complete = 0", kind.index(in: other))
    try FileManager.default.copyItem(atPath: kind.index(in: other), toPath: path)
    try execute("PRAGMA user_version = 1", path)
    store = try kind.open(folder)
    for number in 0..<20 { #expect(try store.entry(tile(number)) == makeEntry(number)) }
    #expect(try store.isPinned(tile(3)) && !store.isPinned(tile(4)))
    try store.removeAll(nil)
    try store.close()
    // A complete index that is damaged later is quarantined itself, also if a kill has left the mark.
    try Data(".corrupt-1".utf8).write(to: mark)
    try kind.open(folder).close()
    try execute("PRAGMA user_version = 1", path)
    store = try kind.open(folder)
    #expect(try store.entry(tile(4)) == nil)
    try store.close()
  }

  @Test("An index that was quarantined earlier brings nothing back", arguments: StoreKind.allCases)
  func notTwice(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    var store = try kind.open(folder)
    try store.store((0..<20).map { (tile($0), makeEntry($0)) })
    try store.close()
    try execute("PRAGMA user_version = 1", kind.index(in: folder))
    store = try kind.open(folder)
    try store.removeAll(nil)
    try store.close()
    try FileManager.default.removeItem(atPath: kind.index(in: folder))
    store = try kind.open(folder)
    #expect(try store.total() == ResourceCache.Totals())
    #expect(try store.entry(tile(3)) == nil)
  }

  /// Renames an index that is in use, as another process does that finds it damaged.
  private func putAside(_ path: String) throws {
    for side in ["", "-wal"] {
      try FileManager.default.moveItem(atPath: path + side, toPath: path + ".corrupt-1" + side)
    }
    try FileManager.default.removeItem(atPath: path + "-shm")
  }

  @Test("A process with an index that another has replaced takes no newer entry away")
  func replacedByOther() throws {
    let (folder, kind) = (try TemporaryFolder(), StoreKind.sqlite)
    let mine = try kind.open(folder)
    try mine.store([(tile(1), makeEntry(1, size: 150_000))])
    try putAside(kind.index(in: folder))
    let other = try kind.open(folder)
    let newer = makeEntry(2, size: 150_000)
    try other.store([(tile(1), newer)])
    #expect(try mine.entry(tile(1)) == newer)
    #expect(try other.entry(tile(1)) == newer)
  }

  @Test("A removal empties the index that another process has put in place")
  func removedFromOther() throws {
    let (folder, kind) = (try TemporaryFolder(), StoreKind.sqlite)
    let mine = try kind.open(folder)
    try mine.store([(tile(500), makeEntry(1))])
    try putAside(kind.index(in: folder))
    let other = try kind.open(folder)
    try other.store((0..<400).map { (tile($0), makeEntry($0)) })
    try mine.removeAll(nil)
    #expect(try other.total() == ResourceCache.Totals())
  }
}
