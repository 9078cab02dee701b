import BothyCache
import BothyCore
package import Foundation
import HTTPTypes

/// A writer of archives of tiles. The file gets its name only when it is finished, so that other code never opens half
/// of one.
///
/// Equal contents are stored once. Calls are safe from any thread and block it.
package protocol TileArchiveWriter: Sendable {
  /// Begins a file. Throws `BothyError` `unavailable` if a file of this name exists, if another writer writes one, or if
  /// it can't be created.
  ///
  /// An unfinished file of an earlier writer is replaced.
  init(path: String) throws(BothyError)

  /// Adds a tile and replaces its earlier content. Takes tiles in any order, and their bytes as they are.
  ///
  /// PMTiles leave out a tile without bytes. Throws `BothyError` `unavailable`, for example on a full disk.
  func add(_ tile: Tile, _ data: Data) throws(BothyError)

  /// Writes the rest and the metadata, then gives the file its name. Zooms are computed from the tiles.
  ///
  /// Throws `BothyError` `unavailable`, also for a PMTiles archive without tiles. Call `cancel` after an error.
  func finish(_ info: TileArchiveInfo) throws(BothyError)

  /// Deletes the unfinished file. Not for a file that is finished.
  func cancel() throws(BothyError)
}

extension TileArchiveWriter {
  /// Creates a file with the tiles that `body` adds. `body` returns the metadata. On failure no file remains.
  static func write<Result>(
    to path: String, _ body: (Self) async throws -> (TileArchiveInfo, Result)
  ) async throws -> Result {
    let writer = try Self(path: path)
    do {
      let (info, result) = try await body(writer)
      try writer.finish(info)
      return result
    } catch {
      // The first error is the one to report.
      try? writer.cancel()
      throw error
    }
  }

  /// Copies an archive, or an area of it at some zooms, into a new file and returns the number of tiles.
  ///
  /// Of a remote archive, only that area is read, with few requests. Bytes are copied as they are packed. On failure
  /// no file remains.
  ///
  /// - Parameters:
  ///   - area: the area to copy, or `nil` for all of it. The new archive has its bounds.
  ///   - zooms: the zooms to copy, or `nil` for all.
  /// - Throws: `BothyError` `tooManyTiles` for an area of more than 4 million tiles, and `unavailable` if a file of
  ///   this name exists. Throws the errors of the archive, and `CancellationError`.
  package static func copy(
    _ archive: any TileArchive, to path: String, in area: RegionArea? = nil, zooms: ZoomRange? = nil
  ) async throws -> Int {
    try await write(to: path) { writer in
      var count = 0
      try await archive.forEachTile(in: area, zooms: zooms) { tile, data in
        try Task.checkCancellation()
        try writer.add(tile, data)
        count += 1
      }
      var info = archive.info
      if let area { info.bounds = area.bounds }
      return (info, count)
    }
  }

  /// Copies an archive like `copy(_:to:in:zooms:)`, and replaces an earlier file when the new one is whole.
  package static func replace(
    _ path: String, with archive: any TileArchive, in area: RegionArea?, zooms: ZoomRange?
  ) async throws -> Int {
    let draft = path + ".new"
    // A process that was killed before the end has left it.
    unlink(draft)
    let count = try await copy(archive, to: draft, in: area, zooms: zooms)
    guard rename(draft, path) == 0 else {
      unlink(draft)
      throw BothyError(.unavailable, "\(path) can't be replaced. Check that its folder may be written.")
    }
    return count
  }

  /// Creates a file of tiles that a cache has, fresh or stale. Packs vector tiles with gzip, as both formats require.
  ///
  /// Tiles that are packed with Brotli or Zstandard stay so. An archive has one packing, so tiles of another one than the
  /// first that was found are left. On failure no file remains.
  ///
  /// - Parameter info: the metadata. Without a format in it, the first tile decides on it. The layers of vector tiles are
  ///   added.
  package static func export(
    _ tiles: some Sequence<Tile>, of source: SourceID, from store: some DiskCache.Reader, to path: String,
    _ info: TileArchiveInfo
  ) async throws -> ArchiveTransferReport {
    try await write(to: path) { writer in
      var report = ArchiveTransferReport()
      var packing = TilePacking(format: info.tileFormat)
      for tile in tiles {
        try Task.checkCancellation()
        guard let entry = try store.entry(tile.key(in: source)), !entry.body.isEmpty,
          let data = try packing.packed(entry.body, entry.metadata.fields)
        else {
          report.left.append(tile)
          continue
        }
        try writer.add(tile, data)
        report.written += 1
      }
      return (packing.completed(info), report)
    }
  }
}

/// The packing of the tiles of an archive that is written from a cache's entries, and what they tell about its metadata.
///
/// The first tile decides on the packing, and on the format if that isn't known.
struct TilePacking {
  private var format: String?
  private var compression: TileArchiveInfo.Compression?
  private var layers = TileLayers()

  init(format: String? = nil) { self.format = format }

  /// Returns a tile as it is written, or `nil` if it is packed in another way than those before.
  ///
  /// Vector tiles that aren't packed are packed with gzip.
  ///
  /// - Parameter fields: the fields of the response that brought it.
  mutating func packed(_ body: Data, _ fields: HTTPFields) throws(Gzip.Failure) -> Data? {
    if format == nil, compression == nil { format = Self.format(of: body, fields) }
    let packsItself = format == "pbf"
    let own =
      TileContent.compression(coding: fields[.contentEncoding])
      ?? (packsItself ? .gzip : TileArchiveInfo.Compression.none)
    if compression == nil { compression = own }
    guard own == compression else { return nil }
    if packsItself, let tile = Self.vectorTile(body) { layers.add(tile) }
    return own == .gzip && packsItself && !Gzip.isPacked(body) ? try Gzip.pack(body) : body
  }

  /// Returns the metadata of an archive with these tiles.
  func completed(_ info: TileArchiveInfo) -> TileArchiveInfo {
    var info = info
    info.tileFormat = format
    info.tileCompression = compression ?? info.tileCompression
    if info.vectorLayers == nil, let layers = layers.json {
      info.metadata["vector_layers"] = layers.canonicalText
    }
    return info
  }

  /// Returns the format of a tile. Many servers send vector tiles without their media type.
  private static func format(of body: Data, _ fields: HTTPFields) -> String? {
    if let format = TileContent.format(of: body, mediaType: fields[.contentType]) { return format }
    return vectorTile(body)?.layers.isEmpty == false ? "pbf" : nil
  }

  /// Returns a vector tile, or `nil` for other bytes.
  private static func vectorTile(_ body: Data) -> VectorTile? {
    // Bytes that can't be read have no layers to describe.
    let content: Data? =
      Gzip.isPacked(body) ? (try? Gzip.unpack(body, limit: VectorTile.sizeLimit)) : body
    return content.flatMap { try? VectorTile(decoding: $0) }
  }
}

/// The formats of tiles' bytes, and their form in archives.
enum TileContent {
  /// Returns the media type of a format of tiles.
  static func mediaType(format: String?) -> String? {
    switch format {
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "webp": "image/webp"
    case "avif": "image/avif"
    case "pbf", "mvt": "application/vnd.mapbox-vector-tile"
    case "json", "geojson": "application/geo+json"
    default: nil
    }
  }

  /// Returns true if an unpacked content can have a format. Checks the first bytes of pictures, and that others aren't
  /// all zeros.
  static func fits(_ content: Data, format: String?, compression: TileArchiveInfo.Compression) -> Bool {
    if ["png", "jpg", "jpeg", "webp", "avif"].contains(format), compression == .none {
      return Self.format(of: content, mediaType: nil) != nil
    }
    return content.contains { $0 != 0 }
  }

  /// Returns the name of the format according to the first bytes, else to the media type. Returns `nil` for other
  /// formats.
  static func format(of body: Data, mediaType: String?) -> String? {
    let start = [UInt8](body.prefix(12))
    if start.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "png" }
    if start.starts(with: [0xFF, 0xD8, 0xFF]) { return "jpg" }
    if start.starts(with: Array("RIFF".utf8)), start.suffix(4) == ArraySlice("WEBP".utf8) { return "webp" }
    if start.dropFirst(4).starts(with: Array("ftypavif".utf8)) { return "avif" }
    switch mediaType?.prefix(while: { $0 != ";" }).lowercased() {
    case "application/vnd.mapbox-vector-tile", "application/x-protobuf", "application/protobuf": return "pbf"
    case "application/geo+json", "application/json": return "geojson"
    default: return nil
    }
  }
}
