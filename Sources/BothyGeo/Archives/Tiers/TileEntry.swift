import BothyCache
import BothyStore
import Foundation
import HTTPTypes

/// A tile of an archive as the content of a response: unpacked, or with the name of its packing.
struct TileEntry {
  var body: Data
  var fields: HTTPFields
  /// True if the archive has the tile packed with gzip.
  var wasPacked = false

  /// Unpacks bytes that are packed with gzip, as a cache stores content and not its transfer coding.
  ///
  /// Brotli and Zstandard aren't unpacked here. Their bytes are kept, and `Content-Encoding` names them. Throws
  /// `BothyError` `damagedArchive` for bytes that can't be unpacked, or that have more than 64 MB then, and for those
  /// that a PMTiles archive calls packed vector tiles, and that are neither.
  init(_ data: Data, of tile: Tile, _ info: TileArchiveInfo) throws(BothyError) {
    fields = [:]
    if let type = TileContent.mediaType(format: info.tileFormat) { fields[.contentType] = type }
    if Gzip.isPacked(data) {
      wasPacked = true
      do { body = try Gzip.unpack(data, limit: PMTilesHeader.contentLimit) } catch {
        throw BothyError(
          .damagedArchive, "The tile \(tile) can't be unpacked. Get the archive again.", underlying: error)
      }
    } else {
      guard TileContent.mayLackGzip(data, info) else {
        throw BothyError(
          .damagedArchive,
          "The tile \(tile) is neither packed with gzip, as its archive says, nor a vector tile. Get the archive again."
        )
      }
      body = data
      fields[.contentEncoding] = TileContent.coding(of: data, info)
    }
  }

  /// Creates the content of an archive's TileJSON document.
  init(describing info: TileArchiveInfo) {
    fields = [.contentType: "application/json"]
    body = Data(info.tileJSON.canonicalText.utf8)
  }
}

extension TileContent {
  /// Returns the `Content-Encoding` of a tile's bytes, or `nil` for gzip and for bytes without a compression.
  ///
  /// Zstandard is recognized by the first bytes. Brotli has no mark, so the archive's statement counts.
  static func coding(of data: Data, _ info: TileArchiveInfo) -> String? {
    if data.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return "zstd" }
    guard info.tileCompression == .brotli, Self.format(of: data, mediaType: nil) == nil else { return nil }
    return "br"
  }

  /// True if a tile that isn't packed with gzip can be one of an archive.
  ///
  /// Some archives call tiles packed that aren't. Other bytes in place of a packed vector tile come from a directory of
  /// another version of the file, or from damage.
  static func mayLackGzip(_ data: Data, _ info: TileArchiveInfo) -> Bool {
    guard info.container == .pmtiles, info.tileCompression == .gzip, info.tileFormat == "pbf" else {
      return true
    }
    return data.isEmpty || Self.format(of: data, mediaType: nil) != nil || VectorTileForm.isWhole(data)
  }

  /// Returns the compression that a `Content-Encoding` names.
  static func compression(coding: String?) -> TileArchiveInfo.Compression? {
    switch coding?.lowercased() {
    case "br", "brotli": .brotli
    case "zstd", "zstandard": .zstd
    case "gzip", "x-gzip": .gzip
    case "none", "identity": TileArchiveInfo.Compression.none
    default: nil
    }
  }
}
