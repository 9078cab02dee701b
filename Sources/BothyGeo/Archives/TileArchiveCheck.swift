import BothyCache
import BothyCore
import Foundation

/// What was found when every tile of an archive was read.
public struct TileArchiveCheck: Sendable, Hashable {
  /// How many tiles there are.
  public var tiles: Int
  /// How many different contents they have.
  public var contents: Int

  /// For comparisons; `TileArchive.check` makes its own.
  public init(tiles: Int, contents: Int) {
    self.tiles = tiles
    self.contents = contents
  }
}

extension TileArchive {
  /// Reads every tile, unpacks it where the archive packs with gzip, and compares its first bytes with the archive's
  /// format. A content that several tiles have is unpacked once, unless they are far apart.
  ///
  /// Throws `GeoError` `.damagedArchive`, naming the first tile that is cut off, zeroed or of another kind.
  public func check() async throws -> TileArchiveCheck {
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
        throw GeoError(
          .damagedArchive,
          "The tile \(tile) is no \(info.tileFormat ?? "tile"): its bytes are not what the archive says. Get the "
            + "archive again.")
      }
    }
    return TileArchiveCheck(tiles: tiles, contents: contents.count)
  }
}
