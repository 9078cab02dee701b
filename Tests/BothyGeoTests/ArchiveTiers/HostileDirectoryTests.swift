import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

/// A PMTiles archive that is put together from any parts, whatever they claim.
private struct RawArchive {
  typealias Entry = (id: UInt64, run: UInt64, offset: UInt64, length: UInt64)

  var root: Data
  var metadata = Data()
  var leaves = Data()
  var contents = Data("tile".utf8)
  var addressed: UInt64 = 0
  var zooms: (UInt8, UInt8) = (0, 20)
  var isPacked = false
  /// Offsets and lengths of the header that replace the true ones, by their place from 0 to 7.
  var claims: [Int: UInt64] = [:]

  init(root: [Entry], leaves: Data = Data()) {
    self.root = Self.directory(root)
    self.leaves = leaves
  }

  static func directory(_ entries: [Entry]) -> Data {
    ArchiveBuilder.directory(
      entries.map { .init(id: $0.id, run: $0.run, offset: $0.offset, length: $0.length) }, isJoined: false)
  }

  var file: Data {
    var header = Data("PMTiles".utf8) + [3]
    var start: UInt64 = 127
    for (place, part) in [root, metadata, leaves, contents].enumerated() {
      header.append(ArchiveBuilder.number(claims[place * 2] ?? start))
      header.append(ArchiveBuilder.number(claims[place * 2 + 1] ?? UInt64(part.count)))
      start += UInt64(part.count)
    }
    for count in [addressed, 1, 1] { header.append(ArchiveBuilder.number(count)) }
    header.append(contentsOf: [1, isPacked ? 2 : 1, 1, 1, zooms.0, zooms.1])
    header.append(contentsOf: [UInt8](repeating: 0, count: 127 - header.count))
    return header + root + metadata + leaves + contents
  }
}

/// A source of bytes in memory that counts what is read.
private final class CountingSource: ByteRangeSource {
  let data: Data
  let reads = Locked<(count: Int, bytes: Int)>((0, 0))

  init(_ data: Data) { self.data = Data(data) }

  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    let end = min(range.upperBound, UInt64(data.count))
    let part = range.lowerBound < end ? data[Int(range.lowerBound)..<Int(end)] : Data()
    reads.change { $0 = ($0.count + 1, $0.bytes + part.count) }
    return (Data(part), "1")
  }
}

@Suite("Directories that are made to harm, and archives of any size", .timeLimit(.minutes(5)))
struct HostileDirectoryTests {
  /// Opens an archive, searches some tiles and visits all of them, in memory and as a file. Returns the codes of errors.
  private func use(_ file: Data) async throws -> Set<BothyError.Code> {
    var codes: Set<BothyError.Code> = []
    func note(_ body: () async throws -> Void) async {
      do { try await body() } catch let error as BothyError {
        codes.insert(error.code)
      } catch { Issue.record("\(error)") }
    }
    let source = CountingSource(file)
    var visited = 0
    await note {
      let archive = try await PMTiles(source)
      for id in [0, 1, 5, 100, 5000] as [UInt64] {
        await note { _ = try await archive.data(of: Tile(hilbertID: id)) }
      }
      await note {
        try await archive.forEachTile { _, _ in
          visited += 1
          // Claimed runs of a few million tiles are possible, and only take time.
          if visited > 100_000 { throw BothyError(.damagedArchive, "Enough.") }
        }
      }
    }
    #expect(source.reads.value.bytes < 8 << 20 && source.reads.value.count < 3000)
    let scratch = try TemporaryFolder()
    try file.write(to: scratch.url("a"))
    await note {
      let tier = try ArchiveTier(path: scratch.file("a"), as: "a")
      for id in [0, 1, 5, 100, 5000] as [UInt64] {
        await note { _ = try tier.entry(Tile(hilbertID: id).key(in: "a")) }
      }
    }
    return codes
  }

  @Test("Directories that lead to themselves or to each other are rejected")
  func loops() async throws {
    let own = RawArchive.directory([(0, 0, 0, 5)])
    #expect(own.count == 5)
    #expect(try await use(RawArchive(root: [(0, 0, 0, 5)], leaves: own).file) == [.damagedArchive])
    let pair = RawArchive.directory([(0, 0, 5, 5)]) + own
    #expect(try await use(RawArchive(root: [(0, 0, 0, 5)], leaves: pair).file) == [.damagedArchive])
  }

  @Test("A directory that is used again is rejected, however often it is named")
  func again() async throws {
    let leaf = RawArchive.directory([(0, 1, 0, 4)])
    let many = (UInt64(0)..<2000).map {
      (id: $0, run: UInt64(0), offset: UInt64(0), length: UInt64(leaf.count))
    }
    #expect(try await use(RawArchive(root: many, leaves: leaf).file) == [.damagedArchive])
    let inner = RawArchive.directory(many)
    let deep = RawArchive(root: [(0, 0, 5, UInt64(inner.count))], leaves: leaf + inner)
    #expect(try await use(deep.file) == [.damagedArchive])
  }

  @Test("A leaf has no tiles beyond the zooms, wherever the root's next entry begins")
  func beyondZooms() async throws {
    let leaf = RawArchive.directory([(1000, 1, 0, 4)])
    var archive = RawArchive(root: [(5, 0, 0, UInt64(leaf.count)), (1 << 60, 1, 0, 4)], leaves: leaf)
    archive.zooms = (0, 3)
    #expect(try await use(archive.file) == [.damagedArchive])
  }

  @Test("Empty directories are rejected")
  func empty() async throws {
    let none = RawArchive.directory([])
    let many = (UInt64(0)..<2000).map {
      (id: $0, run: UInt64(0), offset: UInt64(0), length: UInt64(none.count))
    }
    #expect(try await use(RawArchive(root: many, leaves: none).file) == [.damagedArchive])
  }

  @Test("Lengths and offsets beyond any real part are rejected before they are read")
  func lengths() async throws {
    for (offset, length) in [(0, 1 << 62), (1 << 62, 4), (4, 1), (0, 5), (3, .max - 2)] as [(UInt64, UInt64)]
    {
      for run in [0, 1] as [UInt64] {
        let archive = RawArchive(root: [(0, run, offset, length)], leaves: Data([0, 0, 0, 0]))
        #expect(try await use(archive.file) == [.damagedArchive], "\(offset) \(length) \(run)")
      }
    }
    // The header claims that there is room.
    for (place, value) in [(1, 1 << 40), (3, 1 << 40), (5, 1 << 62), (7, 1 << 62), (0, .max), (6, .max - 3)]
      as [(Int, UInt64)]
    {
      var archive = RawArchive(root: [(0, 1, 0, 1 << 30)])
      archive.claims = [place: value]
      #expect(try await use(archive.file) == [.damagedArchive], "\(place) \(value)")
    }
  }

  @Test("Directories and metadata that unpack to more than any real ones are rejected")
  func bombs() async throws {
    let bomb = try Gzip.pack(Data(count: 64 << 20))
    #expect(bomb.count < 1 << 20)
    var archive = RawArchive(root: [(0, 0, 0, UInt64(bomb.count))], leaves: bomb)
    archive.root = try Gzip.pack(archive.root)
    archive.isPacked = true
    #expect(try await use(archive.file) == [.damagedArchive])
    archive.metadata = bomb
    archive.leaves = Data()
    #expect(try await use(archive.file) == [.damagedArchive])
    archive.metadata = Data()
    archive.root = bomb
    #expect(try await use(archive.file) == [.damagedArchive])
  }

  @Test("A tile without bytes is absent")
  func nothing() async throws {
    let archive = RawArchive(root: [(0, 1, 0, 0), (1, 1, 0, 4)])
    #expect(try await use(archive.file).isEmpty)
    let opened = try await PMTiles(CountingSource(archive.file))
    #expect(try await opened.data(of: Tile(hilbertID: 0)) == nil)
    var seen: [UInt64] = []
    try await opened.forEachTile { tile, _ in seen.append(tile.hilbertID) }
    #expect(seen == [1])
  }

  @Test("Changed bytes end in an error or in tiles, in bounded time", arguments: 1...150)
  func mutations(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    var tiles: [Tile: Data] = [:]
    for _ in 0..<Int.random(in: 1...300, using: &generator) {
      let tile = try Tile(hilbertID: .random(in: 0..<5461, using: &generator))
      tiles[tile] = Data("tile \(Int.random(in: 0...40, using: &generator))".utf8)
    }
    var file = try ArchiveBuilder(
      tiles: tiles, leafSize: generator.chance(70) ? .random(in: 1...50, using: &generator) : nil,
      isPacked: generator.chance(30)
    ).build()
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      let place = Int.random(in: generator.chance(50) ? 8..<127 : 8..<file.count, using: &generator)
      file[place] = generator.chance(30) ? 0xFF : UInt8.random(in: 0...255, using: &generator)
    }
    if generator.chance(20) { file = file.prefix(Int.random(in: 0..<file.count, using: &generator)) }
    let codes = try await use(file)
    #expect(
      codes.isSubset(of: [.damagedArchive, .notAnArchive]), "seed \(seed): \(codes)")
  }

  @Test("Opening costs the same for any number of tiles", arguments: [1, 1000, 1_000_000])
  func opening(count: UInt64) async throws {
    let leaf = RawArchive.directory([(0, 1, 0, 4)])
    let leaves = min(count, 250)
    var archive = RawArchive(
      root: (0..<leaves).map { ($0 * (count / leaves), 0, 0, UInt64(leaf.count)) },
      leaves: leaf + Data(count: Int(count / 10)))
    archive.addressed = count
    let source = CountingSource(archive.file)
    let opened = try await PMTiles(source)
    #expect(opened.info.tileCount == Int(count))
    #expect(source.reads.value.count <= 2 && source.reads.value.bytes <= 16_385)
  }

  @Test("Opening a large SQLite archive counts nothing and asks the index for zooms")
  func openingDatabase() throws {
    let scratch = try TemporaryFolder()
    for (name, index) in [
      ("indexed", "CREATE UNIQUE INDEX i ON tiles (zoom_level, tile_column, tile_row);"), ("bare", ""),
    ] {
      let queue = try DatabaseQueue(path: scratch.file(name))
      try queue.write {
        try $0.execute(
          sql: """
            CREATE TABLE metadata (name TEXT, value TEXT);
            INSERT INTO metadata VALUES ('minzoom', '2'), ('maxzoom', '15');
            CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB); \(index)
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49999)
              INSERT INTO tiles SELECT 14, i, 0, x'01' FROM n WHERE i < 16384;
            INSERT INTO tiles VALUES (3, 0, 0, x'01'), (17, 0, 0, x'01');
            """)
      }
      try queue.close()
      let archive = try MBTiles(path: scratch.file(name))
      #expect(archive.info.tileCount == nil)
      let expected = name == "bare" ? try ZoomRange(2, 15) : try ZoomRange(3, 17)
      #expect(archive.info.zooms == expected)
      #expect(try archive.counted().tileCount == 16_386)
    }
  }
}
