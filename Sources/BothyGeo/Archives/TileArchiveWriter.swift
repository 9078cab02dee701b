public import BothyCache
import BothyCore
public import Foundation

/// Makes an archive of tiles. The file has its name only once it is finished, so nobody ever opens half of one.
///
/// Equal contents are stored once. Calls may come from any thread and block.
public protocol TileArchiveWriter: Sendable {
  /// Begins a file. Throws `GeoError` `.unavailable` when there is one of this name, or it can't be made.
  init(path: String) throws(GeoError)

  /// Adds a tile, in place of what it held before.
  func add(_ tile: Tile, _ data: Data) throws(GeoError)

  /// Writes what is left and what the archive says of itself, and gives the file its name. Zooms come from the tiles.
  func finish(_ info: TileArchiveInfo) throws(GeoError)

  /// Removes the unfinished file.
  func cancel() throws(GeoError)
}

extension TileArchiveWriter {
  /// Makes a file with what `body` adds, which says what the archive is. On failure no file is left.
  static func write<Result>(
    to path: String, _ body: (Self) async throws -> (TileArchiveInfo, Result)
  ) async throws -> Result {
    let writer = try Self(path: path)
    do {
      let (info, result) = try await body(writer)
      try writer.finish(info)
      return result
    } catch {
      // The first failure is the one to tell of.
      try? writer.cancel()
      throw error
    }
  }

  /// Copies an archive into a new file and returns how many tiles it has. On failure no file is left.
  public static func copy(_ archive: any TileArchive, to path: String) async throws -> Int {
    try await write(to: path) { writer in
      var count = 0
      try await archive.forEachTile { tile, data in
        try Task.checkCancellation()
        try writer.add(tile, data)
        count += 1
      }
      return (archive.info, count)
    }
  }

  /// Makes a file of tiles that a cache has, fresh or stale. Vector tiles are packed with gzip, as both formats ask.
  /// On failure no file is left.
  public static func export(
    _ tiles: some Sequence<Tile>, of source: SourceID, from store: some BlobReader, to path: String,
    _ info: TileArchiveInfo
  ) async throws -> ArchiveTransferReport {
    try await write(to: path) { writer in
      var report = ArchiveTransferReport()
      for tile in tiles {
        try Task.checkCancellation()
        guard let entry = try store.entry(tile.key(in: source)), !entry.body.isEmpty else {
          report.left.append(tile)
          continue
        }
        try writer.add(tile, TileContent.packed(entry.body, format: info.tileFormat))
        report.written += 1
      }
      return (info, report)
    }
  }
}

/// What the bytes of tiles are, and how archives want them.
enum TileContent {
  /// Vector tiles packed with gzip, others as they are.
  static func packed(_ body: Data, format: String?) throws(Gzip.Failure) -> Data {
    format == "pbf" && !Gzip.isPacked(body) ? try Gzip.pack(body) : body
  }

  /// The media types of tiles.
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

  /// Whether an unpacked content can be of a format: pictures by their first bytes, others by not being zeros alone.
  static func fits(_ content: Data, format: String?, compression: TileArchiveInfo.Compression) -> Bool {
    if ["png", "jpg", "jpeg", "webp", "avif"].contains(format), compression == .none {
      return Self.format(of: content, mediaType: nil) != nil
    }
    return content.contains { $0 != 0 }
  }

  /// The format's name by what the bytes begin with, else by the media type they came with; nil for others.
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
