import BothyStore
import Foundation
import GRDB

/// The transfer of the readable tiles of a quarantined file of places into its replacement.
///
/// Each row is read by itself, as any page may be damaged. The features are derived again from the bytes. A tile whose
/// bytes the cache has is read there again.
struct PlaceSalvage {
  /// The use of a tile, as its row says.
  private struct Use {
    var bytes: Int64
    var checksum: Int64?
    var usedAt: Int64
    var isCached: Bool
  }

  private static let copiedAtOnce = 16
  private let old: DatabaseQueue

  /// Opens the file, or returns `nil` if it isn't a database.
  init?(_ path: String) {
    // A file that isn't a database has nothing to copy.
    guard let old = try? DatabaseQueue(path: path) else { return nil }
    self.old = old
  }

  /// Copies the readable tiles that the new file lacks, and returns their number. Closes the quarantined file.
  func copy(into new: ClosableDatabase) throws -> Int {
    defer { try? old.close() }  // It was only read.
    var copied = 0
    let numbers = numbers()
    for start in stride(from: 0, to: numbers.count, by: Self.copiedAtOnce) {
      let part = numbers[start..<min(start + Self.copiedAtOnce, numbers.count)]
      let tiles = part.compactMap { held($0) }
      try new.write { database in
        for (tile, use) in tiles { copied += try Self.insert(tile, use, database) }
      }
    }
    return copied
  }

  /// Returns the numbers of the tiles. A damaged page hides those behind it. The tables are then also read backwards, and
  /// others that name the tiles too.
  private func numbers() -> [Int64] {
    var found: Set<Int64> = []
    if scan("tile", "morton", "ASC", into: &found) { return found.sorted() }
    _ = scan("tile", "morton", "DESC", into: &found)
    for (table, column) in [("tile_use", "morton"), ("version", "tile")] {
      if !scan(table, column, "ASC", into: &found) { _ = scan(table, column, "DESC", into: &found) }
    }
    return found.sorted()
  }

  /// Reads a column up to its end or the first damaged page. Returns false for the latter.
  private func scan(_ table: String, _ column: String, _ order: String, into found: inout Set<Int64>) -> Bool
  {
    do {
      try old.inDatabase { database in
        let select = try PreparedStatement(
          "SELECT \(column) FROM \(table) ORDER BY \(column) \(order)", in: database)
        defer { select.reset() }
        while try select.step() { found.insert(select.int(at: 0)) }
      }
      return true
    } catch {
      // The rows up to here count.
      return false
    }
  }

  /// Returns a tile and its use, or `nil` if its bytes can't be read and the cache doesn't have them.
  private func held(_ number: Int64) -> (tile: PlaceTile, use: Use)? {
    // A damaged page hides its own rows only. A file of another version may lack the table of uses.
    let use = try? old.inDatabase { try Self.use(number, $0) }
    let read = try? old.inDatabase { try Self.tile(number, $0) }
    if let read, isWhole(read, use) {
      let counted = Use(
        bytes: Int64(read.payload.count), checksum: use?.checksum, usedAt: use?.usedAt ?? read.validatedAt,
        isCached: false)
      return (read, read.isCached ? use ?? Use(bytes: 0, usedAt: read.validatedAt, isCached: true) : counted)
    }
    guard let use, use.isCached, let tile = try? Tile(morton: UInt64(bitPattern: number)) else {
      return nil
    }
    // The times are those of the cache when the tile is read there.
    var stub = PlaceTile(tile, payload: PlaceTileRow.elsewhere, receivedAt: 0)
    stub.isCached = true
    return (stub, use)
  }

  /// True if the bytes of a tile are those that were received, as far as their checksum is known.
  private func isWhole(_ tile: PlaceTile, _ use: Use?) -> Bool {
    guard !tile.isCached, let use, let checksum = use.checksum else { return true }
    return use.bytes == Int64(tile.payload.count) && checksum == PlaceTileRow.checksum(tile.payload)
  }

  private static func tile(_ number: Int64, _ database: Database) throws -> PlaceTile? {
    let select = try PreparedStatement(
      "SELECT received_at, validated_at, etag, last_modified, payload FROM tile WHERE morton = ?",
      in: database)
    select.bind(number, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    var tile = PlaceTile(
      try Tile(morton: UInt64(bitPattern: number)), payload: select.data(at: 4),
      receivedAt: select.int(at: 0), validatedAt: select.int(at: 1), entityTag: select.text(at: 2),
      lastModified: select.text(at: 3))
    tile.isCached = tile.payload == PlaceTileRow.elsewhere
    return tile
  }

  private static func use(_ number: Int64, _ database: Database) throws -> Use? {
    let select = try PreparedStatement(
      "SELECT bytes, checksum, used_at, is_cached FROM tile_use WHERE morton = ?", in: database)
    select.bind(number, at: 1)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return Use(
      bytes: select.int(at: 0), checksum: select.optionalInt(at: 1), usedAt: select.int(at: 2),
      isCached: select.int(at: 3) == 1)
  }

  /// Inserts a tile unless the new file has it. Returns the number of inserted tiles.
  private static func insert(_ tile: PlaceTile, _ use: Use, _ database: Database) throws -> Int {
    let row = try PreparedStatement(
      """
      INSERT OR IGNORE INTO tile
        (morton, received_at, validated_at, etag, last_modified, parser, categories, payload)
      VALUES (?, ?, ?, ?, ?, \(PlaceTileRow.underived), 0, ?)
      """, in: database)
    row.bind(tile.tile.rowNumber, at: 1)
    row.bind(tile.receivedAt, at: 2)
    row.bind(tile.validatedAt, at: 3)
    row.bind(tile.entityTag, at: 4)
    row.bind(tile.lastModified, at: 5)
    row.bind(tile.payload, at: 6)
    try row.run()
    guard database.changedRows > 0 else { return 0 }
    let count = try PreparedStatement(
      "INSERT OR REPLACE INTO tile_use (morton, bytes, checksum, used_at, is_cached) VALUES (?, ?, ?, ?, ?)",
      in: database)
    count.bind(tile.tile.rowNumber, at: 1)
    count.bind(use.bytes, at: 2)
    count.bind(use.checksum, at: 3)
    count.bind(use.usedAt, at: 4)
    count.bind(tile.isCached ? 1 : 0, at: 5)
    try count.run()
    return 1
  }
}
