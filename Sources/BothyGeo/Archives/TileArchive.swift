import BothyCache
import BothyStore
public import Foundation

/// A file of many tiles, read one tile at a time or from end to end.
///
/// `TileArchives.open` returns the archives that this library reads. A type of an app's own can be copied into a cache
/// too: `copy(into:as:at:freshFor:in:zooms:)`.
public protocol TileArchive: Sendable {
  /// The metadata of the archive, read when it was opened. Reading it blocks for no file.
  var info: TileArchiveInfo { get }

  /// Returns the bytes of a tile as stored, compressed or not, or `nil` if the archive lacks the tile.
  ///
  /// Costs one look-up in a SQLite file. PMTiles cost one read, and up to three more for directories that aren't in
  /// memory. Throws `BothyError` `damagedArchive` or `unavailable`.
  func data(of tile: Tile) async throws -> Data?

  /// Calls `body` with each tile and its bytes as stored. Blocks the thread while it reads files.
  ///
  /// PMTiles are read in the order of the Hilbert curve, other files in an order of their own. An error of `body` ends
  /// the walk and is thrown unchanged. A PMTiles archive that is replaced meanwhile throws `BothyError`
  /// `changedArchive`: open it again.
  func forEachTile(_ body: (Tile, Data) throws -> Void) async throws
}

extension TileArchive {
  /// Returns the bytes of a tile ready for use, unpacked if the archive packs them with gzip. `nil` if it lacks the
  /// tile.
  ///
  /// Costs the read of `data(of:)`, and unpacks on the thread of the call. Brotli and Zstandard aren't unpacked.
  ///
  /// - Throws: `BothyError` `damagedArchive` for bytes that can't be unpacked, or that have more than 64 MB then.
  ///   Throws the errors of `data(of:)`.
  public func content(of tile: Tile) async throws -> Data? {
    guard let data = try await data(of: tile) else { return nil }
    return try unpacked(data, tile)
  }

  func unpacked(_ data: Data, _ tile: Tile) throws(BothyError) -> Data {
    try TileEntry(data, of: tile, info).body
  }

  /// Calls `body` for each tile of an area at some zooms that the archive has, or for each of its tiles.
  ///
  /// Of a remote archive, tiles that lie near each other in the file are read together.
  ///
  /// Throws `BothyError` `tooManyTiles` for an area of more than 4 million tiles within the archive's zooms.
  func forEachTile(
    in area: RegionArea?, zooms: ZoomRange?, _ body: (Tile, Data) throws -> Void
  ) async throws {
    guard area != nil || zooms != nil else { return try await forEachTile(body) }
    let known = info.zooms ?? .all
    guard let wanted = (zooms ?? known).common(with: known) else { return }
    // The bounds may be wider than the tiles, or not be stated. The file lists the tiles themselves.
    if area == nil, let archive = self as? MBTiles { return try archive.blockingForEachTile(wanted, body) }
    let tiles = try OfflineRegions.Tiles(area ?? .box(info.bounds), zooms: wanted)
    guard try tiles.count(limit: Self.tilesOfArea) <= Self.tilesOfArea else {
      throw BothyError(
        .tooManyTiles,
        "The area has more than \(Self.tilesOfArea) tiles at these zooms. Choose a smaller one, or fewer zooms."
      )
    }
    if let archive = self as? PMTiles { return try await archive.forEachTile(of: tiles, body) }
    for tile in tiles {
      if let data = try await data(of: tile) { try body(tile, data) }
    }
  }

  private static var tilesOfArea: Int { 4_000_000 }

  /// Returns the metadata with the numbers of tiles and contents where the file knows them, counted if needed.
  package func counted() throws -> TileArchiveInfo { try (self as? MBTiles)?.counted() ?? info }
}
