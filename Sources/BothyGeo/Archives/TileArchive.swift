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
  public enum Container: String, Sendable, Hashable { case mbtiles, pmtiles, keyed }

  /// How the bytes of a tile are packed.
  public enum Compression: String, Sendable, Hashable { case unknown, none, gzip, brotli, zstd }

  public var container: Container
  public var name: String?
  public var attribution: String?
  /// What a tile is: `png`, `jpg`, `webp`, `avif`, `pbf` for vector tiles, or whatever the archive says.
  public var tileFormat: String?
  public var tileCompression: Compression
  public var zooms: ZoomRange?
  public var bounds: GeoBox
  public var tileCount: Int?
  /// How many different contents the tiles have, where the archive tells.
  public var contentCount: Int?
  /// Everything else that the archive says, as it is written there.
  public var metadata: [String: String]

  /// Where an archive says nothing, it is of the whole map.
  public static let wholeMap = GeoBox(west: -180, south: -85, east: 180, north: 85)

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
