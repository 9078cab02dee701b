import BothyCache
import BothyTestSupport
import Foundation
import Testing

@Suite("Held room", .timeLimit(.minutes(5)))
struct HeldRoomTests {
  private let folder: TemporaryFolder
  private let isFull = Locked(false)
  /// The number of writes that a full disk refuses before it takes one, or 0 for a disk that the held room helps.
  private let refusals = Locked(0)
  private let calls = Locked(0)
  private static let count = 600
  private static let size: Int64 = 256 << 10

  init() throws { folder = try TemporaryFolder() }

  private func room(_ kind: StoreKind) -> String { kind.index(in: folder) + "-room" }

  private func held(_ kind: StoreKind) -> Int64 {
    let attributes = try? FileManager.default.attributesOfItem(atPath: room(kind))  // there may be none
    return attributes?[.size] as? Int64 ?? 0
  }

  /// Opens a store on a disk that, once it is full, takes writes only while the held room is given up.
  private func open(_ kind: StoreKind, _ limits: DiskCache.Limits = DiskCache.Limits(bytes: nil)) throws
    -> any DiskCache.Store
  {
    var options = DiskCache.Options(limits: limits)
    options.isDiskFull = { [isFull, refusals, calls, path = room(kind)] in
      guard isFull.value else { return false }
      if refusals.value > 0 {
        calls.change { $0 += 1 }
        return calls.value % (refusals.value + 1) != 0
      }
      return FileManager.default.fileExists(atPath: path)
    }
    return try kind.open(folder, options)
  }

  /// Stores six megabytes.
  private func fill(_ store: any DiskCache.Store) throws {
    for start in stride(from: 0, to: Self.count, by: 50) {
      try store.store((start..<start + 50).map { (tile($0), makeEntry($0, size: 10_000)) })
    }
  }

  private func indexSize(_ kind: StoreKind) throws -> Int64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: kind.index(in: folder))
    return try #require(attributes[.size] as? Int64)
  }

  @Test("A store of some megabytes holds room, and a small one none", arguments: StoreKind.allCases)
  func large(_ kind: StoreKind) throws {
    let store = try open(kind)
    try store.store([(tile(0), makeEntry(0))])
    #expect(held(kind) == 0)
    try fill(store)
    #expect(held(kind) == Self.size)
    try store.close()
    try FileManager.default.removeItem(atPath: room(kind))
    let again = try open(kind)
    #expect(held(kind) == Self.size, "made again by the next opening")
    try again.removeAll(nil)
    #expect(held(kind) == 0)
  }

  @Test("A full disk takes every kind of removal", arguments: StoreKind.allCases)
  func removals(_ kind: StoreKind) throws {
    let store = try open(kind)
    try fill(store)
    try store.pin((0..<100).map { tile($0) }, by: "region")
    try #require(held(kind) == Self.size)
    isFull.value = true
    try store.remove([tile(0), tile(1)])
    #expect(try store.total().count == Self.count - 2)
    #expect(held(kind) == Self.size, "held again after the removal")
    #expect(try store.apply(DiskCache.Limits(bytes: nil, count: 480, slack: .minimalPurge(1))).count == 20)
    #expect(held(kind) == Self.size)
    try store.unpin([tile(2)], by: "region")
    #expect(try !store.isPinned(tile(2)))
    try store.removeAll("osm")
    #expect(try store.total().count == 0)
  }

  @Test("Removals go on entry by entry if the disk takes no more at once", arguments: StoreKind.allCases)
  func single(_ kind: StoreKind) throws {
    let store = try open(kind)
    try store.store((0..<40).map { (tile($0), makeEntry($0)) })
    try store.pin((0..<40).map { tile($0) }, by: "region")
    refusals.value = 2
    isFull.value = true
    try store.remove((0..<10).map { tile($0) })
    #expect(try store.total().count == 30)
    try store.unpin(nil, by: "region")
    #expect(try store.pinCount(by: "region") == 0)
    isFull.value = false
    #expect(try store.collectGarbage().removedFiles == 0)
  }

  @Test("On a full disk, what a holder releases makes room at once", arguments: StoreKind.allCases)
  func released(_ kind: StoreKind) throws {
    let store = try open(kind)
    try fill(store)
    try store.pin((0..<Self.count).map { tile($0) }, by: "region")
    try store.pin([tile(7)], by: "other")
    isFull.value = true
    try store.unpin(nil, by: "region")
    isFull.value = false
    #expect(try store.total().count == 1)
    #expect(try store.entry(tile(7)) == makeEntry(7, size: 10_000))
    try store.close()
    #expect(try indexSize(kind) < 500_000)
  }

  @Test("A disk with room keeps what a holder releases", arguments: StoreKind.allCases)
  func kept(_ kind: StoreKind) throws {
    let store = try open(kind)
    try fill(store)
    try store.pin((0..<Self.count).map { tile($0) }, by: "region")
    try store.unpin(nil, by: "region")
    #expect(try store.total().count == Self.count)
  }

  @Test("A released region beyond the limits leaves a small file")
  func shrinks() throws {
    let store = try open(.sqlite, DiskCache.Limits(bytes: 1 << 20))
    try store.pin((0..<Self.count).map { tile($0) }, by: "region")
    try fill(store)
    try store.unpin(nil, by: "region")
    try store.close()
    #expect(try indexSize(.sqlite) + held(.sqlite) <= 1 << 20)
  }

  @Test("A full disk that nothing is removed from keeps its room", arguments: StoreKind.allCases)
  func untouched(_ kind: StoreKind) throws {
    var store = try open(kind)
    try fill(store)
    try store.pin((0..<Self.count).map { tile($0) }, by: "region")
    try store.close()
    isFull.value = true
    store = try open(kind)
    try store.remove([tile(9999)])
    try store.unpin(nil, by: "nobody")
    #expect(try store.apply(DiskCache.Limits(bytes: nil)).isEmpty)
    #expect(try store.store(tile(9999), makeEntry(1)).refused.count == 1, "nothing can be evicted for it")
    #expect(try store.entry(tile(3)) == makeEntry(3, size: 10_000))
    #expect(held(kind) == Self.size)
  }
}
