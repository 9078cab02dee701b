import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Indexes of a newer version", .timeLimit(.minutes(5)))
struct NewerIndexTests {
  private let folder: TemporaryFolder
  private let log = Received<DiskCache.Event>()

  init() throws { folder = try TemporaryFolder() }

  private func open(_ kind: StoreKind) throws -> any DiskCache.Store {
    try kind.open(folder, DiskCache.Options(onEvent: log.append))
  }

  private func execute(_ sql: String, _ path: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Makes a store of twenty entries, of which ten and one without an entry are pinned. Returns the path of its index.
  private func filled(_ kind: StoreKind) throws -> String {
    let store = try kind.open(folder)
    for number in 0..<20 { try store.store([(tile(number), entry(number))]) }
    try store.pin(((0..<10) + [30]).map { tile($0) }, by: "region:a")
    try store.close()
    return kind.index(in: folder)
  }

  private func entry(_ number: Int) -> CacheEntry { makeEntry(number, size: number == 7 ? 150_000 : 900) }

  private func present(_ store: any DiskCache.Store) throws -> Set<Int> {
    try Set(
      (0..<20).filter { number in
        let found = try store.entry(tile(number))
        #expect(found == nil || found == entry(number))
        return found != nil
      })
  }

  private func isAside(_ index: String) -> Bool { FileManager.default.fileExists(atPath: index + ".newer") }

  /// Gives the files of every second entry, or their rows, a form that this version can't read, or takes it back.
  private func exchange(_ kind: StoreKind, _ index: String) throws {
    guard kind == .files else {
      return try execute("UPDATE entry SET frame = -frame WHERE rank % 2 = 0", index)
    }
    for name in try folder.files().keys where name.contains("/tiledb/") {
      let file = URL(filePath: folder.path + "/" + name)
      var bytes = try Data(contentsOf: file)
      guard (0..<20).contains(where: { $0 % 2 == 1 && bytes.starts(with: entry($0).body) }) else { continue }
      bytes[bytes.count - 1] ^= 3  // The digits 1 and 2 of the form.
      try bytes.write(to: file)
    }
  }

  /// Promises: A-45
  @Test(
    "Entries and pins of a newer index are taken over and reported",
    arguments: StoreKind.allCases, [false, true])
  func takenOver(_ kind: StoreKind, isInLog: Bool) throws {
    let index = try filled(kind)
    let newer = try DatabaseQueue(path: index)
    try newer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
    if !isInLog { try newer.close() }
    var store = try open(kind)
    guard case .recreated(index, index + ".newer", let reason)? = log.values.first else {
      Issue.record("\(log.values)")
      return
    }
    #expect(log.values.count == 1 && reason.contains("format 99"))
    for _ in 0..<2 {
      #expect(try present(store) == Set(0..<20))
      #expect(try store.pinCount(by: "region:a") == 11 && store.total().pinnedCount == 10)
      #expect(try store.isPinned(tile(30)) && !store.isPinned(tile(11)))
      #expect(!isAside(index), "all of it was read")
      try store.close()
      store = try open(kind)
    }
    _ = try store.apply(DiskCache.Limits(count: 1))
    #expect(try present(store).isSuperset(of: 0..<10) && present(store).count < 12)
    #expect(log.values.count == 1)
    if isInLog { try newer.close() }
  }

  @Test(
    "What an older version can't read waits until the newer one takes it back",
    arguments: StoreKind.allCases)
  func takenBack(_ kind: StoreKind) throws {
    let index = try filled(kind)
    try exchange(kind, index)
    try execute("PRAGMA user_version = 99", index)
    var store = try open(kind)
    let even = Set(stride(from: 0, to: 20, by: 2))
    #expect(try present(store) == even)
    #expect(log.values.count == 2)
    guard case .recreated(_, index + ".newer", let reason)? = log.values.last else {
      Issue.record("\(log.values)")
      return
    }
    #expect(reason.contains("10 of its entries"))
    try store.unpin([tile(3)], by: "region:a")
    try store.remove([tile(2)])
    _ = try store.collectGarbage()
    try store.close()
    store = try open(kind)
    #expect(try present(store) == even.subtracting([2]))
    #expect(try store.isPinned(tile(1)) && log.values.count == 2 && isAside(index))
    try store.close()
    // From here on, the newer version has the folder again.
    try exchange(kind, kind == .files ? index : index + ".newer")
    try execute("PRAGMA user_version = 3", index + ".newer")
    store = try open(kind)
    #expect(try present(store) == Set(0..<20).subtracting([2]), "it was removed in the meantime")
    #expect(try store.isPinned(tile(1)) && !store.isPinned(tile(3)) && !isAside(index))
    _ = try store.apply(DiskCache.Limits(count: 1))
    #expect(try present(store).isSuperset(of: Set(0..<10).subtracting([2, 3])))
    let total = try store.total()
    _ = try store.collectGarbage()
    #expect(try store.total() == total)
  }

  @Test("Pins that were given up don't come back beside unreadable ones")
  func givenUp() throws {
    let index = try filled(.sqlite)
    var store = try open(.sqlite)
    try store.pin([tile(1)], by: "region:b")
    try store.close()
    let unreadable = "WHERE holder = (SELECT id FROM holder WHERE name = 'region:b')"
    try execute("UPDATE pin SET name = name + 8 \(unreadable); PRAGMA user_version = 99", index)
    store = try open(.sqlite)
    #expect(try store.pinCount(by: "region:a") == 11 && store.pinCount(by: "region:b") == 0)
    #expect(isAside(index))
    try store.unpin(nil, by: "region:a")
    try store.close()
    // From here on, the newer version has the folder again.
    try execute("UPDATE pin SET name = name - 8 \(unreadable); PRAGMA user_version = 4", index + ".newer")
    store = try open(.sqlite)
    #expect(try store.pinCount(by: "region:a") == 0 && store.pinCount(by: "region:b") == 1)
    #expect(try store.isPinned(tile(1)) && !store.isPinned(tile(3)) && !isAside(index))
  }

  @Test("A newer index with unknown tables stays aside for 30 days", arguments: [29.0, 31])
  func bound(_ days: Double) throws {
    let index = try filled(.sqlite)
    try execute("CREATE TABLE later (x); PRAGMA user_version = 99", index)
    var store = try open(.sqlite)
    #expect(try present(store) == Set(0..<20) && isAside(index))
    try store.close()
    let date = Date(timeIntervalSinceNow: -86_400 * days)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: index + ".newer")
    store = try open(.sqlite)
    #expect(isAside(index) == (days < 30))
    #expect(try present(store) == Set(0..<20))
    try store.removeAll(nil)
    #expect(!isAside(index), "nothing of it is brought back")
  }

  @Test("Entries of a newer index under names of another form are not misread")
  func otherNames() throws {
    let index = try filled(.sqlite)
    try execute(
      "UPDATE entry SET name = name + 8; UPDATE pin SET name = name + 8; PRAGMA user_version = 99", index)
    let store = try open(.sqlite)
    #expect(try present(store).isEmpty && store.total().count == 0 && store.pinHolders().isEmpty)
    #expect(isAside(index))
  }
}
