import BothyCore
import BothyStore
package import Foundation

/// Decodes tiles of every known format, which it recognizes by the first bytes.
package struct AnyTileDecoder: Sendable {
  private let vector: VectorTileDecoder

  /// Creates a decoder. Without a schema, the one of each vector tile is recognized by its layers.
  package init(schema: TileSchema? = nil) { vector = VectorTileDecoder(schema: schema) }

  /// Decodes the bytes of a tile, also packed with gzip. A feature that can't be used is left out and named in
  /// `problems`.
  ///
  /// Runs on the caller's thread in time and memory linear in the number of bytes. Throws `BothyError`: `notATile` for
  /// bytes of another format, and `invalidCategories` for a vector tile that needs a schema.
  package func decode(
    _ payload: Data, of tile: Tile, categories: CategoryTable
  ) throws(BothyError) -> DecodedTile {
    switch try TileFormat(of: payload) {
    case .json:
      let content = try GeoJSONTile(decoding: payload, categories: categories)
      return DecodedTile(features: content.features, problems: content.problems, format: "GeoJSON")
    case .vector: return try vector.decode(payload, of: tile, categories: categories)
    case .gzip:
      let content = try TileFormat.unpacked(payload)
      guard try TileFormat(of: content) != .gzip else {
        throw BothyError(.notATile, "The tile is packed with gzip twice. Get it again from another source.")
      }
      return try decode(content, of: tile, categories: categories)
    }
  }
}

/// The format of a tile with places.
package enum TileFormat: Sendable, Hashable {
  case json
  case vector
  /// One of the others, packed.
  case gzip

  /// Recognizes the format by the first bytes.
  ///
  /// No bytes are a vector tile without layers. A text may begin with a byte order mark.
  ///
  /// Throws `BothyError` `notATile` with the name for Zstandard and for pictures. Brotli has no beginning of its own;
  /// what states it is `check(coding:)`.
  package init(of payload: Data) throws(BothyError) {
    let start = [UInt8](payload.prefix(16))
    if start.isEmpty || start.hasByteOrderMark {
      self = start.isEmpty ? .vector : .json
      return
    }
    if start.starts(with: [0x1F, 0x8B]) {
      self = .gzip
      return
    }
    if start.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { try Self.check(coding: "zstd") }
    if let picture = TileContent.format(of: payload, mediaType: nil) {
      throw BothyError(
        .notATile, "The tile is a picture (\(picture)), and places are read from GeoJSON and vector tiles.")
    }
    // A vector tile begins with a layer or another field, none of which is a letter or a bracket. A text that isn't JSON
    // may be a page that is sent in place of a tile.
    let byte = start.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? UInt8(ascii: "{")
    self = byte < 0x20 || byte > 0x7E ? .vector : .json
  }

  /// Returns bytes that are packed with gzip, unpacked. Throws `BothyError` `notATile` if they can't be unpacked.
  static func unpacked(_ payload: Data) throws(BothyError) -> Data {
    do { return try Gzip.unpack(payload, limit: VectorTile.textLimit) } catch {
      throw BothyError(
        .notATile, "The tile is packed with gzip and can't be unpacked. Get it again.", underlying: error)
    }
  }

  /// Throws `BothyError` `notATile` if content is packed in a way that isn't unpacked here. The name is that of HTTP's
  /// `Content-Encoding`, or `nil`.
  package static func check(coding: String?) throws(BothyError) {
    let name: String
    switch coding?.lowercased() {
    case nil, "", "identity", "gzip", "x-gzip": return
    case "br", "brotli": name = "Brotli"
    case "zstd": name = "Zstandard"
    case .some(let other): name = "'\(other)'"
    }
    throw BothyError(
      .notATile,
      "The tile is packed with \(name), which places don't unpack. Get it packed with gzip, or not packed.")
  }
}
