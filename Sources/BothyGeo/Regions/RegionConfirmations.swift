import BothyStore
import Foundation
import GRDB

/// The tiles that a refresh has confirmed, as one bit for each tile in the order of the plan.
///
/// A refresh that continues knows its own tiles by these bits. Times don't show that, as clocks are set and readers
/// renew tiles too.
struct RegionConfirmations: Sendable, Hashable {
  private var bits: Data

  init(bits: Data = Data()) { self.bits = bits }

  /// Returns true if the tile at a place of the part is confirmed.
  func has(_ place: Int) -> Bool {
    let byte = place / 8
    return byte < bits.count && bits[bits.startIndex + byte] & (1 << (place % 8)) != 0
  }

  mutating func add(_ place: Int) {
    let byte = place / 8
    if byte >= bits.count { bits.append(Data(count: byte + 1 - bits.count)) }
    bits[bits.startIndex + byte] |= 1 << (place % 8)
  }

  /// The stored form of a part.
  var stored: Data { bits }
}

/// The confirmed tiles in the database of regions, in parts like a manifest.
extension RegionDatabase {
  static let confirmedTable = """
    CREATE TABLE confirmed (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, part INTEGER NOT NULL, tiles BLOB NOT NULL,
      PRIMARY KEY (region, part)
    ) WITHOUT ROWID, STRICT;
    """

  /// Returns the tiles of a part that the current refresh has confirmed.
  func confirmed(of id: String, part: Int) async throws(BothyError) -> RegionConfirmations {
    try await read { try Self.confirmed(id, part, $0) }
  }

  /// Returns true if the current refresh has confirmed a tile, besides the documents, which are the first.
  func hasConfirmed(of id: String, besides documents: Int) async throws(BothyError) -> Bool {
    try await read { database in
      let rows = try Row.fetchAll(
        database, sql: "SELECT part, tiles FROM confirmed WHERE region = ?", arguments: [id])
      return rows.contains { row in
        let (part, bits): (Int, Data) = (row[0], row[1])
        let known = RegionConfirmations(bits: bits)
        let places = 0..<RegionManifest.tilesOfPart
        return places.contains { known.has($0) && part * RegionManifest.tilesOfPart + $0 >= documents }
      }
    }
  }

  /// Records that the current refresh has confirmed tiles, by their parts and their places in these.
  func confirm(_ tiles: [Int: [Int]], of id: String) async throws(BothyError) {
    guard !tiles.isEmpty else { return }
    try await write { try Self.confirm(tiles, id, $0) }
  }

  static func confirm(_ tiles: [Int: [Int]], _ id: String, _ database: Database) throws {
    for (part, places) in tiles {
      var known = try confirmed(id, part, database)
      for place in places { known.add(place) }
      try database.execute(
        sql: "INSERT OR REPLACE INTO confirmed SELECT id, ?, ? FROM region WHERE id = ?",
        arguments: [part, known.stored, id])
    }
  }

  private static func confirmed(
    _ id: String, _ part: Int, _ database: Database
  ) throws -> RegionConfirmations {
    let bits = try Data.fetchOne(
      database, sql: "SELECT tiles FROM confirmed WHERE region = ? AND part = ?", arguments: [id, part])
    return RegionConfirmations(bits: bits ?? Data())
  }
}
