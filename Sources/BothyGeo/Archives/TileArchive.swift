import BothyCache
public import BothyStore
public import Foundation

/// Many tiles in one file.
public protocol TileArchive: Sendable {
  /// What the archive says of itself.
  var info: TileArchiveInfo { get }

  /// The bytes of a tile as they are stored, compressed or not; nil where the archive has none.
  func data(of tile: Tile) async throws -> Data?

  /// Calls `body` with each tile and its bytes. Blocks the thread for as long as files are read.
  func forEachTile(_ body: (Tile, Data) throws -> Void) async throws
}

/// What an archive says of itself.
public struct TileArchiveInfo: Sendable, Hashable {
  /// The kind of file; `keyed` is that of older map apps, see `KeyedTiles`.
  public enum Container: String, Sendable, Hashable {
    /// A SQLite file (MBTiles 1.3).
    case mbtiles
    /// A file with a directory of its own, made for range requests (PMTiles version 3).
    case pmtiles
    /// A SQLite file of older map apps, tiles by numeric keys.
    case keyed
  }

  /// How the bytes of a tile are packed.
  public enum Compression: String, Sendable, Hashable {
    /// The archive does not say.
    case unknown
    /// Tiles are as they are used.
    case none
    /// gzip (RFC 1952); `content(of:)` unpacks it.
    case gzip
    /// Brotli (RFC 7932); handed out as it is.
    case brotli
    /// Zstandard (RFC 8878); handed out as it is.
    case zstd
  }

  /// The kind of file.
  public var container: Container
  /// What its maker calls it; nil where it does not say.
  public var name: String?
  /// Whom to thank, as it is written in the archive, which may be HTML; nil where it does not say.
  public var attribution: String?
  /// What a tile is: `png`, `jpg`, `webp`, `avif`, `pbf` for vector tiles, or whatever the archive says.
  public var tileFormat: String?
  /// How the tiles are packed; for MBTiles told by the format.
  public var tileCompression: Compression
  /// The lowest and the highest zoom of its tiles; nil where there are none.
  public var zooms: ZoomRange?
  /// Where its tiles are; the whole map where it does not say.
  public var bounds: GeoBox
  /// How many tiles can be asked for, also where several have one content; nil where that is not known.
  public var tileCount: Int?
  /// How many different contents the tiles have, where the archive tells.
  public var contentCount: Int?
  /// Everything else that the archive says, as it is written there.
  public var metadata: [String: String]

  /// Where an archive says nothing, it is of the whole map.
  public static let wholeMap = GeoBox(west: -180, south: -85, east: 180, north: 85)

  /// For archives of one's own kind; nothing is known but the container, unless told otherwise.
  public init(
    container: Container, name: String? = nil, attribution: String? = nil, tileFormat: String? = nil,
    tileCompression: Compression = .unknown, zooms: ZoomRange? = nil, bounds: GeoBox = wholeMap,
    tileCount: Int? = nil, contentCount: Int? = nil, metadata: [String: String] = [:]
  ) {
    self.container = container
    self.name = name
    self.attribution = attribution
    self.tileFormat = tileFormat
    self.tileCompression = tileCompression
    self.zooms = zooms
    self.bounds = bounds
    self.tileCount = tileCount
    self.contentCount = contentCount
    self.metadata = metadata
  }
}

extension TileArchive {
  /// The bytes of a tile ready to be used: unpacked where the archive packs them with gzip. Throws `GeoError`
  /// `.damagedArchive` for what can't be unpacked, or is larger than 64 MB then.
  public func content(of tile: Tile) async throws -> Data? {
    guard let data = try await data(of: tile) else { return nil }
    guard info.tileCompression == .gzip || Gzip.isPacked(data) else { return data }
    return try unpacked(data, tile)
  }
}

/// Opens archives by what is in them, whatever their names are.
public enum TileArchives {
  /// Opens a file. Throws `GeoError` `.unavailable` when it can't be read, `.notAnArchive` when it is neither MBTiles nor
  /// PMTiles.
  public static func open(path: String) async throws -> any TileArchive {
    let source = try FileRangeSource(path: path)
    let head = try await source.bytes(0..<16, expecting: nil).data
    if head.starts(with: Array("PMTiles".utf8)) { return try await PMTiles(source) }
    guard head.starts(with: Array("SQLite format 3".utf8)) else {
      throw GeoError(.notAnArchive, "\(path) is neither MBTiles nor PMTiles. The file was left as it is.")
    }
    return try KeyedTiles.isArchive(path) ? KeyedTiles(path: path) : MBTiles(path: path)
  }
}
