import BothyCache
import BothyCore
import Foundation

/// The result of reading every tile of an archive.
package struct TileArchiveCheck: Sendable, Hashable {
  /// The number of tiles.
  package var tiles: Int
  /// The number of distinct contents.
  package var contents: Int

  /// Creates a result, for comparisons. `TileArchive.check` creates its own.
  package init(tiles: Int, contents: Int) {
    self.tiles = tiles
    self.contents = contents
  }
}

extension TileArchive {
  /// Reads every tile, unpacks it if the archive packs with gzip, and compares its first bytes with the archive's
  /// format. Unpacks a content that several tiles share once, unless these tiles are far apart.
  ///
  /// Throws `BothyError` `damagedArchive` with the first tile that is cut off, zeroed or of another format.
  package func check() async throws -> TileArchiveCheck {
    var tiles = 0
    var contents: Set<UInt64> = []
    let info = info
    try await forEachTile { tile, data in
      try Task.checkCancellation()
      tiles += 1
      let isNew = contents.insert(data.withUnsafeBytes { XXH64.hash($0) }).inserted
      guard isNew, !data.isEmpty else { return }
      let isPacked = Gzip.isPacked(data)
      let content = isPacked ? try unpacked(data, tile) : data
      let isExpected =
        info.tileCompression == .gzip
        ? isPacked || info.container != .pmtiles && content.contains { $0 != 0 }
        : TileContent.fits(content, format: info.tileFormat, compression: info.tileCompression)
      guard isExpected else {
        throw BothyError(
          .damagedArchive,
          "The tile \(tile) isn't a \(info.tileFormat ?? "tile"): its bytes are not what the archive says. Get the "
            + "archive again.")
      }
    }
    return TileArchiveCheck(tiles: tiles, contents: contents.count)
  }
}
