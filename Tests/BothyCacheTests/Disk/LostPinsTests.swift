import BothyCache
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Entries whose pins were lost with the index", .timeLimit(.minutes(5)))
struct LostPinsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var index: String { StoreKind.files.index(in: folder) }
  private var isNoted: Bool { FileManager.default.fileExists(atPath: index + "-lost") }
  private var few: DiskCache.Limits { DiskCache.Limits(bytes: nil, count: 5, slack: .minimalPurge(1)) }

  /// Makes a store of twenty pinned entries, and deletes or damages its index.
  private func lose(isDeleted: Bool = true) throws {
    let store = try StoreKind.files.open(folder)
    try store.store((0..<20).map { (tile($0), makeEntry($0)) })
    try store.pin((0..<20).map { tile($0) }, by: "region:a")
    try store.close()
    if isDeleted {
      try FileManager.default.removeItem(atPath: index)
    } else {
      try Data(repeating: 7, count: 40_000).write(to: URL(filePath: index))
    }
  }

  private func present(_ store: any DiskCache.Store) throws -> [Int] {
    try (0..<40).filter { try store.entry(tile($0)) != nil }
  }

  @Test("They stay until the opening after a holder has pinned again", arguments: [true, false])
  func untilPinned(_ isDeleted: Bool) throws {
    try lose(isDeleted: isDeleted)
    try StoreKind.files.open(folder, limits: few).close()
    var store = try StoreKind.files.open(folder, limits: few)
    #expect(try present(store) == Array(0..<20) && store.total().pinnedCount == 0)
    try store.touch([(tile(1), 5000)])
    try store.store([(tile(2), makeEntry(2))])
    #expect(try store.apply(few).isEmpty, "neither a use nor a replacement gives an entry up")
    for number in 20..<30 { try store.store([(tile(number), makeEntry(number))]) }
    #expect(try present(store) == Array(0..<20) + [29], "what is stored after the loss is bounded")
    try store.pin((0..<8).map { tile($0) }, by: "region:a")
    #expect(try store.apply(few).count <= 1, "a holder pins in parts")
    try store.close()
    store = try StoreKind.files.open(folder, limits: few)
    #expect(try present(store).starts(with: 0..<8) && present(store).count == 13)
    #expect(!isNoted)
    try store.close()
  }

  @Test("They stay although an older index aside has readable pins")
  func beside() throws {
    var store = try StoreKind.files.open(folder)
    try store.store((0..<20).map { (tile($0), makeEntry($0)) })
    try store.close()
    var older = try Data(contentsOf: URL(filePath: index))
    older[63] = 99
    store = try StoreKind.files.open(folder)
    try store.pin((0..<20).map { tile($0) }, by: "region:a")
    try store.close()
    try FileManager.default.removeItem(atPath: index)
    try older.write(to: URL(filePath: index + ".newer"))
    try StoreKind.files.open(folder, limits: few).close()
    store = try StoreKind.files.open(folder, limits: few)
    #expect(try present(store) == Array(0..<20) && isNoted)
    try store.close()
  }

  @Test("Without a pin they stay for 30 days", arguments: [29.0, 31])
  func bound(_ days: Double) throws {
    try lose()
    try StoreKind.files.open(folder, limits: few).close()
    let date = Date(timeIntervalSinceNow: -86_400 * days)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: index + "-lost")
    let store = try StoreKind.files.open(folder, limits: few)
    #expect(try present(store).count == (days < 30 ? 20 : 5))
    try store.close()
  }

  @Test("The 30 days begin anew if the clock was ahead when they began")
  func ahead() throws {
    try lose()
    try StoreKind.files.open(folder, limits: few).close()
    let date = Date(timeIntervalSinceNow: 86_400 * 3650)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: index + "-lost")
    let store = try StoreKind.files.open(folder, limits: few)
    #expect(try present(store).count == 20)
    try store.close()
    let attributes = try FileManager.default.attributesOfItem(atPath: index + "-lost")
    let begun = try #require(attributes[.modificationDate] as? Date)
    #expect(abs(begun.timeIntervalSinceNow) < 3600)
  }

  @Test("Limits hold at once if no pins were lost")
  func withoutLoss() throws {
    let store = try StoreKind.files.open(folder, limits: few)
    try store.store((0..<20).map { (tile($0), makeEntry($0)) })
    #expect(try present(store).count <= 5 && !isNoted)
    try store.close()
    // A wrong number of the format is damage that hides no rows.
    var bytes = try Data(contentsOf: URL(filePath: index))
    bytes[63] = 1
    try bytes.write(to: URL(filePath: index))
    let again = try StoreKind.files.open(folder, limits: DiskCache.Limits(bytes: nil, count: 2))
    #expect(try present(again).count <= 2 && !isNoted)
    try again.close()
  }
}
