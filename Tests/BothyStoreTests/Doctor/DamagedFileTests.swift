import BothyStore
import Foundation
import Testing

@Suite("A file that is damaged when it is opened")
struct DamagedFileTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bothy-\(UUIDv7.make())")
  private let schema = Schema(types: [TypeSchema("Item", fields: [.field("text", String.self)])])
  private var path: String { folder.appendingPathComponent("items.bothy").path }

  /// A copy of a file in use, as the end of its process leaves it, with 500 records.
  private func abandoned() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let original = folder.appendingPathComponent("original.bothy").path
    let store = try Store(at: original, schema: schema)
    try store.write { transaction in
      for number in 0..<500 {
        try transaction.insert(
          Record("Item", id: "i\(number)", ["text": .text(String(repeating: "x", count: 200))]))
      }
    }
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: original + suffix, toPath: path + suffix)
    }
    try store.close()
  }

  /// Takes the closed file, writes nonsense over some pages, and leaves a log as an ended process does.
  private func damage() throws {
    for suffix in ["", "-wal"] { try FileManager.default.removeItem(atPath: path + suffix) }
    try FileManager.default.copyItem(
      atPath: folder.appendingPathComponent("original.bothy").path, toPath: path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    for page in 10..<20 as Range<UInt64> {
      try file.seek(toOffset: page * 4096)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    }
    try file.close()
    try Data(repeating: 0, count: 32).write(to: URL(fileURLWithPath: path + "-wal"))
  }

  /// Promises: S-3
  @Test("after the end of a process, an undamaged file opens with all that was committed")
  func undamaged() throws {
    defer { try? FileManager.default.removeItem(at: folder) }  // a folder left behind harms nothing
    try abandoned()
    let store = try Store(at: path, schema: schema)
    #expect(try store.count(RecordQuery("Item")) == 500)
    try store.close()
  }

  /// Promises: S-3
  @Test("after the end of a process, a damaged file is set aside with an error that says where, and kept")
  func setAside() throws {
    defer { try? FileManager.default.removeItem(at: folder) }  // a folder left behind harms nothing
    try abandoned()
    try damage()
    let error = try #require(#expect(throws: StoreError.self) { _ = try Store(at: path, schema: schema) })
    #expect(error.code == .corrupt)
    #expect(error.message.contains(".damaged-"))
    #expect(!FileManager.default.fileExists(atPath: path))
    let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.contains(".damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    let old = try #require(kept.first)
    #expect(try !Store.diagnose(fileAt: folder.appendingPathComponent(old).path).isHealthy)
    let store = try Store(at: path, schema: schema)
    #expect(try store.count(RecordQuery("Item")) == 0)
    try store.close()
  }

  /// Promises: S-3
  @Test("a tool opens what there is and leaves the file where it is")
  func left() throws {
    defer { try? FileManager.default.removeItem(at: folder) }  // a folder left behind harms nothing
    try abandoned()
    try damage()
    var options = StoreOptions()
    options.damagedFile = .leave
    let store = try Store(at: path, schema: schema, options: options)
    #expect(try !store.diagnose().isHealthy)
    try store.close()
    #expect(FileManager.default.fileExists(atPath: path))
  }
}
