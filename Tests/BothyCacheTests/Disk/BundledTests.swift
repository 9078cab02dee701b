import BothyCache
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Resources that came with the app", .timeLimit(.minutes(5)))
struct BundledTests {
  /// Promises: R-37
  @Test("Plain files are found by source and path, and none outside the folder")
  func plainFiles() throws {
    let folder = try TemporaryFolder()
    let tiles = folder.path + "/bundle/osm/16/0"
    try FileManager.default.createDirectory(atPath: tiles, withIntermediateDirectories: true)
    try Data("tile".utf8).write(to: URL(fileURLWithPath: tiles + "/1.png"))
    try Data("secret".utf8).write(to: URL(fileURLWithPath: folder.path + "/secret.png"))
    let bundle = BundledFolder(
      folder.path + "/bundle", fileExtension: "png", receivedAt: 1234, contentType: "image/png")
    let entry = try #require(try bundle.entry(tile(1)))
    #expect(entry.body == Data("tile".utf8) && entry.metadata.status == 200)
    #expect(entry.metadata.receivedAt == 1234 && entry.metadata.fields[.contentType] == "image/png")
    #expect(try bundle.metadata(tile(1)) == entry.metadata)
    #expect(try bundle.entry(ResourceKey("osm", path: "16/0/1"))?.body == Data("tile".utf8))
    #expect(try bundle.entry(tile(2)) == nil && bundle.metadata(tile(2)) == nil)
    for path in ["../../secret", "../secret", "16/../../../secret", "/secret", "16/0/..\\1", "16/0/1\0"] {
      #expect(try bundle.entry(ResourceKey("osm", path: path)) == nil, "\(path)")
      #expect(try bundle.entry(ResourceKey("..", path: path)) == nil, "\(path)")
    }
    let dated = BundledFolder(folder.path + "/bundle", fileExtension: "png")
    #expect(try #require(try dated.metadata(tile(1))).receivedAt > 1_600_000_000_000)
  }

  /// Promises: R-13
  @Test("A shipped store folder or exported file is read and never written")
  func shippedStores() throws {
    let folder = try TemporaryFolder()
    let entries = (0..<30).map { (key: tile($0), entry: makeEntry($0, size: $0 == 5 ? 150_000 : 2000)) }
    let files = try DiskStore(folder: folder.path + "/files")
    let database = try DiskStore(path: folder.path + "/database.sqlite")
    for store in [files, database] as [any DiskCache.Store] { try store.store(entries) }
    try FileManager.default.createDirectory(
      atPath: folder.path + "/shipped", withIntermediateDirectories: true)
    try database.export(to: folder.path + "/shipped/tiles #1?.sqlite")
    #expect(throws: (any Error).self) { try database.export(to: folder.path + "/shipped/tiles #1?.sqlite") }
    for store in [files, database] as [any DiskCache.Store] { try store.close() }
    let before = try folder.files()
    let bundles: [any DiskCache.Reader] = [
      BundledFolder(folder.path + "/files"), try BundledFile(folder.path + "/shipped/tiles #1?.sqlite"),
    ]
    for bundle in bundles {
      for (key, entry) in entries {
        #expect(try bundle.entry(key) == entry)
        #expect(try bundle.metadata(key) == entry.metadata)
      }
      #expect(try bundle.entry(tile(1000)) == nil && bundle.metadata(tile(1000)) == nil)
    }
    #expect(try folder.files() == before)
    #expect(throws: (any Error).self) { try BundledFile(folder.path + "/missing.sqlite") }
    #expect(throws: (any Error).self) { try BundledFile(folder.path + "/files/CACHEDIR.TAG") }
  }
}
