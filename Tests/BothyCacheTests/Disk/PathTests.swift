import BothyCache
import BothyTestSupport
import Foundation
import Testing

@Suite("Paths of entries", .timeLimit(.minutes(5)))
struct PathTests {
  /// Promises: R-10
  @Test("A tile's file is below tiledb, source, zoom and column, bytes first")
  func layout() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore(folder: folder.path)
    let entry = makeEntry(1, size: 3000)
    try store.store([(ResourceKey("osm", zoom: 16, x: 34820, y: 22380), entry)])
    try store.store([(ResourceKey("osm", path: "styles/dark.json?v=2"), entry)])
    let files = try folder.files().keys.filter { $0.hasPrefix("tiledb") }.sorted()
    #expect(files == ["tiledb/osm/16/34820/22380%t", "tiledb/osm/styles/dark.json%3fv=2%"])
    for file in files {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + file))
      #expect(bytes.prefix(3000) == entry.body)
    }
  }

  /// Promises: R-10
  @Test("A file that is being read stays whole while another version replaces it")
  func replaced() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore(folder: folder.path)
    let (old, new) = (makeEntry(1, size: 3000), makeEntry(2, size: 5000))
    let file = URL(fileURLWithPath: folder.path + "/tiledb/osm/16/0/1%t")
    try store.store([(tile(1), old)])
    let before = try Data(contentsOf: file)
    let reader = try FileHandle(forReadingFrom: file)
    try store.store([(tile(1), new)])
    #expect(try reader.readToEnd() == before)
    try reader.close()
    #expect(try Data(contentsOf: file).prefix(5000) == new.body)
    #expect(try store.entry(tile(1)) == new)
  }

  static let hostilePaths = [
    "../../../etc/passwd", "/etc/passwd", "..", ".", "", "/", "//", "a//b", "%2e%2e/%2e%2e/x", "..%2f..%2fx",
    "a\0b",
    "..\\..\\x", "~root/x", "~", "a/./b", "a/../b", "a/b", "a", "a/", "/a", "a/b/c", "a%", "a%t", "%-", "CON",
    "x:y",
    "name. ", ".hidden", "tab\tnew\nline", "?q=1", "?q=2", "#f",
    String(repeating: "x", count: 300), String(repeating: "x", count: 299) + "y",
    String(repeating: "é", count: 200),
    (0..<60).map { "d\($0)" }.joined(separator: "/"), (0..<61).map { "d\($0)" }.joined(separator: "/"),
    (0..<40).map { _ in String(repeating: "z", count: 90) }.joined(separator: "/"),
  ]

  /// Promises: E-20, E-21
  @Test("No path leads out of the source's folder, and no two are equal", arguments: StoreKind.allCases)
  func hostilePaths(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    let size = kind == .files ? 100 : 150_000
    for (number, path) in Self.hostilePaths.enumerated() {
      try store.store([(ResourceKey("osm", path: path), makeEntry(number, size: size))])
    }
    for (number, path) in Self.hostilePaths.enumerated() {
      #expect(try store.entry(ResourceKey("osm", path: path)) == makeEntry(number, size: size), "\(path)")
    }
    let root = kind == .files ? "store/tiledb/osm/" : "store/cache.sqlite-large/bodies/"
    let files = try folder.files().keys.filter { $0.contains("tiledb") || $0.contains("bodies") }
    #expect(files.count == Self.hostilePaths.count)
    #expect(files.allSatisfy { $0.hasPrefix(root) })
    #expect(files.flatMap { $0.split(separator: "/") }.allSatisfy { $0.utf8.count <= 255 })
    var keys: Set<ResourceKey> = []
    try store.forEach("osm") { key, _, _ in keys.insert(key) }
    #expect(
      keys == Set(Self.hostilePaths.map { ResourceKey("osm", path: $0) }), "every path comes back as it was")
  }

  /// Promises: E-23
  @Test("Names with different case or normalisation differ on any file system")
  func caseAndNormalisation() throws {
    let folder = try TemporaryFolder()
    let store = try DiskStore(folder: folder.path)
    let paths = [
      "Tile.png", "tile.png", "TILE.PNG", "stra\u{DF}e", "STRASSE", "\u{E9}", "e", "\u{212A}", "K", "k",
    ]
    for (number, path) in paths.enumerated() {
      try store.store([(ResourceKey("osm", path: path), makeEntry(number))])
    }
    let names = try folder.files().keys.filter { $0.hasPrefix("tiledb") }
    #expect(names.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 && !(65...90).contains($0) } })
    #expect(Set(names.map { $0.lowercased() }).count == names.count)
    // Swift regards the Kelvin sign and K as equal, like the two forms of é, and so does the store.
    #expect(
      ResourceKey("osm", path: "\u{212A}") == ResourceKey("osm", path: "K") && names.count == paths.count - 1)
    #expect(try store.entry(ResourceKey("osm", path: "e\u{301}")) == makeEntry(5))
    #expect(try store.entry(ResourceKey("osm", path: "Tile.png")) == makeEntry(0))
    #expect(try store.entry(ResourceKey("osm", path: "tile.png")) == makeEntry(1))
  }

  /// Promises: E-24
  @Test("Any text can name a source and is restored unchanged", arguments: StoreKind.allCases)
  func sources(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let names = [
      "osm", "OSM", "", ".", "..", "a/b", "/", "a\\b", "~", "Straße 東京 🏔", "%2e", "nul\0byte", "index.sqlite",
      String(repeating: "long", count: 200), String(repeating: "long", count: 199) + "last",
    ]
    let store = try kind.open(folder)
    for (number, name) in names.enumerated() {
      try store.store([(tile(1, SourceID(name)), makeEntry(number, size: 120_000))])
    }
    try store.close()
    let again = try kind.open(folder)
    #expect(try Set(again.totals().keys.map(\.name)) == Set(names))
    for (number, name) in names.enumerated() {
      #expect(try again.entry(tile(1, SourceID(name))) == makeEntry(number, size: 120_000), "\(name)")
    }
    try again.removeAll(SourceID(".."))
    #expect(try again.totals().count == names.count - 1)
    guard kind == .files else { return }
    let roots = try folder.files().keys.filter { $0.contains("tiledb") }.compactMap {
      $0.split(separator: "tiledb/").last?.split(separator: "/").first
    }
    #expect(Set(roots).count == names.count - 1 && roots.allSatisfy { $0.utf8.count <= 255 })
  }

  /// Promises: B-32
  @Test("The standard folder is in the system's folder for caches and is marked")
  func standardPlace() throws {
    let place = CacheFolder.standard("org.example.hut")
    #expect(place.hasSuffix("/org.example.hut"))
    #expect(place.lowercased().contains("cache") && !place.contains("Documents"))
    let folder = try TemporaryFolder()
    _ = try DiskStore(folder: folder.path)
    let tag = try String(contentsOfFile: folder.path + "/CACHEDIR.TAG", encoding: .utf8)
    #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
  }
}
