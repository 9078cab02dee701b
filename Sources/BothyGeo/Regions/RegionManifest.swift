import BothyCache
import BothyStore
import Foundation
import GRDB

/// The manifest of a region: the size and the checksum of each of its tiles when it was last complete.
///
/// It is stored in parts of 256 tiles, in the order of the plan, so that no tile's address is stored.
enum RegionManifest {
  /// The number of tiles of a part.
  static let tilesOfPart = 256
  private static let bytesOfTile = 12
  /// The stored size of a tile that nothing is known about.
  private static let unknown = UInt32.max

  /// The digest of a resource that the newest version of a style needs, and that a refresh loads.
  static let awaited = StoredDigest(size: Int64(unknown) - 1, checksum: 0)

  /// Returns the stored form of a part. `nil` stands for a tile that nothing is known about.
  static func encoded(_ digests: [StoredDigest?]) -> Data {
    var data = Data(capacity: digests.count * bytesOfTile)
    for digest in digests {
      let size = digest.map { UInt32(clamping: min($0.size, Int64(unknown) - 1)) } ?? unknown
      withUnsafeBytes(of: size.littleEndian) { data.append(contentsOf: $0) }
      withUnsafeBytes(of: (digest?.checksum ?? 0).littleEndian) { data.append(contentsOf: $0) }
    }
    return data
  }

  /// Returns the tiles of a part. A part that was cut off ends early.
  static func decoded(_ data: Data) -> [StoredDigest?] {
    let bytes = [UInt8](data)
    return stride(from: 0, to: bytes.count - bytesOfTile + 1, by: bytesOfTile).map { place in
      let size = number(bytes[place..<place + 4])
      return size == UInt64(unknown)
        ? nil : StoredDigest(size: Int64(size), checksum: number(bytes[place + 4..<place + 12]))
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The result of comparing a manifest with the disk.
  struct Comparison: Sendable, Hashable {
    /// The number of tiles that are no longer on the disk.
    var lost = 0
    /// The number of tiles whose content differs from the manifest, as they were refreshed one by one.
    var changed = 0
  }

  /// Compares a part with the disk.
  static func compare(_ held: [StoredDigest?], _ present: [StoredDigest?], _ result: inout Comparison) {
    for (place, now) in present.enumerated() {
      let known = known(place, held)
      if known == awaited { continue }
      guard let now, now.size > 0 || (known?.size ?? 0) == 0 else {
        result.lost += 1
        continue
      }
      if let known, known != now { result.changed += 1 }
    }
  }

  /// Returns the places of tiles that neither the manifest nor the disk has. They are lost, unless they came with the
  /// app.
  static func unstored(_ held: [StoredDigest?], _ present: [StoredDigest?]) -> [Int] {
    present.indices.filter { present[$0] == nil && known($0, held) == nil }
  }

  private static func known(_ place: Int, _ held: [StoredDigest?]) -> StoredDigest? {
    place < held.count ? held[place] : nil
  }
}

/// The manifests in the database of regions.
extension RegionDatabase {
  static let manifestTable = """
    CREATE TABLE part (
      region TEXT NOT NULL REFERENCES region ON DELETE CASCADE, place INTEGER NOT NULL, tiles BLOB NOT NULL,
      PRIMARY KEY (region, place)
    ) WITHOUT ROWID, STRICT;
    """

  /// Returns up to `count` parts of a manifest, from a place on, by place. A read-only file of an older format has
  /// none.
  func parts(of id: String, from place: Int, count: Int) async throws(BothyError) -> [Int: Data] {
    try await read { database in
      guard try database.tableExists("part") else { return [:] }
      var parts: [Int: Data] = [:]
      let rows = try Row.fetchAll(
        database, sql: "SELECT place, tiles FROM part WHERE region = ? AND place >= ? AND place < ?",
        arguments: [id, place, place + count])
      for row in rows { parts[row[0]] = row[1] }
      return parts
    }
  }

  /// Replaces parts of a manifest in one transaction. An equal part isn't written.
  func put(_ parts: [(place: Int, tiles: Data)], of id: String) async throws(BothyError) {
    try await write { database in
      for part in parts {
        try database.execute(
          sql: """
            INSERT INTO part SELECT id, ?, ? FROM region WHERE id = ?
            ON CONFLICT (region, place) DO UPDATE SET tiles = excluded.tiles WHERE part.tiles <> excluded.tiles
            """,
          arguments: [part.place, part.tiles, id])
      }
    }
  }
}
