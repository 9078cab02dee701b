import BothyCache
public import BothyStore
public import Foundation

/// A file of many tiles.
public protocol TileArchive: Sendable {
  /// The metadata of the archive.
  var info: TileArchiveInfo { get }

  /// Returns the bytes of a tile as stored, compressed or not, or `nil` if the archive lacks the tile.
  func data(of tile: Tile) async throws -> Data?

  /// Calls `body` with each tile and its bytes. Blocks the thread while it reads files.
  func forEachTile(_ body: (Tile, Data) throws -> Void) async throws
}

/// The metadata of an archive.
public struct TileArchiveInfo: Sendable, Hashable {
  /// The kind of a file. `keyed` is the format of older map apps, see `KeyedTiles`.
  public enum Container: String, Sendable, Hashable {
    /// A SQLite file (MBTiles 1.3).
    case mbtiles
    /// A file with its own directory, made for range requests (PMTiles version 3).
    case pmtiles
    /// A SQLite file of older map apps, with tiles by numeric keys.
    case keyed
  }

  /// The compression of a tile's bytes.
  public enum Compression: String, Sendable, Hashable {
    /// The archive doesn't state it.
    case unknown
    /// Tiles aren't compressed.
    case none
    /// gzip (RFC 1952). `content(of:)` unpacks it.
    case gzip
    /// Brotli (RFC 7932). Returned as stored.
    case brotli
    /// Zstandard (RFC 8878). Returned as stored.
    case zstd
  }

  /// The kind of file.
  public var container: Container
  /// The name that the archive states, or `nil`.
  public var name: String?
  /// The attribution that the archive states, or `nil`. It may be HTML.
  public var attribution: String?
  /// The format of the tiles: `png`, `jpg`, `webp`, `avif`, `pbf` for vector tiles, or another that the archive states.
  public var tileFormat: String?
  /// The compression of the tiles. For MBTiles, it is derived from the format.
  public var tileCompression: Compression
  /// The lowest and the highest zoom of its tiles, or `nil` if it has no tiles.
  public var zooms: ZoomRange?
  /// The area of its tiles, or the whole map if the archive doesn't state it.
  public var bounds: GeoBox
  /// The number of tiles, including those that share a content, or `nil` if it isn't known.
  public var tileCount: Int?
  /// The number of distinct contents of the tiles, or `nil` if the archive doesn't state it.
  package var contentCount: Int?
  /// All other metadata that the archive states, unchanged.
  public var metadata: [String: String]

  /// The area of an archive that states none.
  package static let wholeMap = GeoBox(west: -180, south: -85, east: 180, north: 85)

  /// Creates metadata, for archives of your own kind. By default, only the container is known, and the area is the map.
  public init(
    container: Container, name: String? = nil, attribution: String? = nil, tileFormat: String? = nil,
    tileCompression: Compression = .unknown, zooms: ZoomRange? = nil, bounds: GeoBox? = nil,
    tileCount: Int? = nil, contentCount: Int? = nil, metadata: [String: String] = [:]
  ) {
    self.container = container
    self.name = name
    self.attribution = attribution
    self.tileFormat = tileFormat
    self.tileCompression = tileCompression
    self.zooms = zooms
    self.bounds = bounds ?? Self.wholeMap
    self.tileCount = tileCount
    self.contentCount = contentCount
    self.metadata = metadata
  }
}

extension TileArchive {
  /// Returns the bytes of a tile ready for use, unpacked if the archive packs them with gzip.
  ///
  /// Throws `BothyError` `damagedArchive` for bytes that can't be unpacked, or that have more than 64 MB then.
  public func content(of tile: Tile) async throws -> Data? {
    guard let data = try await data(of: tile) else { return nil }
    guard info.tileCompression == .gzip || Gzip.isPacked(data) else { return data }
    return try unpacked(data, tile)
  }

  func unpacked(_ data: Data, _ tile: Tile) throws(BothyError) -> Data {
    Gzip.isPacked(data) ? try TileEntry(data, of: tile, info).body : data
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
    let tiles = try RegionTiles(area ?? .box(info.bounds), zooms: wanted)
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

/// Opens and creates archives.
public enum TileArchives {
  /// Opens a file by its content, independent of its name. Costs the same for any number of tiles.
  ///
  /// Throws `BothyError`: `unavailable` if the file can't be read, and `notAnArchive` if it is neither MBTiles nor
  /// PMTiles.
  public static func open(path: String) async throws -> any TileArchive {
    switch try container(path: path) {
    case .pmtiles: try await PMTiles(FileRangeSource(path: path))
    case .keyed: try KeyedTiles(path: path)
    case .mbtiles: try MBTiles(path: path)
    }
  }

  /// Returns the kind of a file by its content. Throws `BothyError` `notAnArchive` for other files.
  static func container(path: String) throws -> TileArchiveInfo.Container {
    let head = try FileRangeSource(path: path).blockingBytes(0..<16, expecting: nil).data
    if head.starts(with: Array("PMTiles".utf8)) { return .pmtiles }
    guard head.starts(with: Array("SQLite format 3".utf8)) else {
      throw BothyError(.notAnArchive, "\(path) is neither MBTiles nor PMTiles. The file was left as it is.")
    }
    return try KeyedTiles.isArchive(path) ? .keyed : .mbtiles
  }

  /// Opens a PMTiles file on a server, which is read by range requests. Requests its first 16 KB.
  ///
  /// A tile costs a request, and up to three more for directories that weren't read yet. `ResourceSource.init(_:archive:)`
  /// reads through a cache, which stores what came.
  ///
  /// Throws `BothyError`: `unavailable` if the server does not send parts of files, and `notAnArchive`.
  public static func open(url: String, loader: any ResourceLoader) async throws -> any TileArchive {
    try await PMTiles(HTTPRangeSource(url: url, loader: loader))
  }

  /// Begins a file. Throws `BothyError` `unavailable` if a file of this name exists, it can't be created, or the
  /// container is `keyed`, which is only read.
  public static func writer(
    to path: String, as container: TileArchiveInfo.Container
  ) throws(BothyError) -> any TileArchiveWriter { try writer(of: container).init(path: path) }

  /// Returns the writer of a kind of file.
  static func writer(of container: TileArchiveInfo.Container) throws(BothyError) -> any TileArchiveWriter.Type
  {
    switch container {
    case .mbtiles: return MBTilesWriter.self
    case .pmtiles: return PMTilesWriter.self
    case .keyed:
      throw BothyError(
        .unavailable, "Archives of older map apps are read, not written. Choose MBTiles or PMTiles.")
    }
  }
}
