import BothyCache
public import BothyStore
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

/// The metadata of an archive, as its file states it.
///
/// Nothing of it is compared with the tiles, except the zooms of an MBTiles file. A file from a stranger may state
/// anything.
public struct TileArchiveInfo: Sendable, Hashable {
  /// The kind of a file. `keyed` is the format of older map apps, see `KeyedTiles`.
  public enum Container: String, Sendable, Hashable {
    /// A SQLite file (MBTiles 1.3). It can be read and written.
    case mbtiles
    /// A file with its own directory, made for range requests (PMTiles version 3). It can be read and written.
    case pmtiles
    /// A SQLite file of older map apps, with tiles by numeric keys. It can be read only, and has no tiles of zoom 29.
    case keyed
  }

  /// The compression of a tile's bytes, apart from that of a picture's format.
  public enum Compression: String, Sendable, Hashable {
    /// The archive doesn't state it. `content(of:)` then recognizes gzip by the first bytes.
    case unknown
    /// Tiles aren't compressed. Most archives of pictures have this value.
    case none
    /// gzip (RFC 1952). `content(of:)` unpacks it.
    case gzip
    /// Brotli (RFC 7932). Returned as stored, so the app or the renderer unpacks it.
    case brotli
    /// Zstandard (RFC 8878). Returned as stored, so the app or the renderer unpacks it.
    case zstd
  }

  /// The kind of file, recognized by its content.
  public var container: Container
  /// The name that the archive states for people, or `nil`.
  public var name: String?
  /// The attribution that the archive states, or `nil`. It may be HTML.
  ///
  /// The owners of the data mostly require that a map shows it.
  public var attribution: String?
  /// The format of the tiles: `png`, `jpg`, `webp`, `avif`, `pbf` for vector tiles, or another that the archive
  /// states.
  ///
  /// `nil` if it states none, as files of the kind `keyed`.
  public var tileFormat: String?
  /// The compression of the tiles.
  ///
  /// MBTiles state it in the metadata `compression`. Without it, tiles of the format `pbf` count as packed with gzip,
  /// and others as not compressed.
  public var tileCompression: Compression
  /// The lowest and the highest zoom of its tiles, or `nil` if it has no tiles.
  ///
  /// MBTiles are searched for them. A large file without an index of zooms has those of its metadata, or `nil`.
  public var zooms: ZoomRange?
  /// The area of its tiles, or the whole map if the archive doesn't state it: ±180° by ±85°. Tiles may be missing
  /// within it.
  public var bounds: GeoBox
  /// The number of tiles, including those that share a content, or `nil` if it isn't known.
  ///
  /// SQLite files are counted up to 1023 tiles, so that opening costs the same for any size.
  package var tileCount: Int?
  /// The number of distinct contents of the tiles, or `nil` if the archive doesn't state it.
  package var contentCount: Int?
  /// All metadata that the archive states, by name.
  ///
  /// A value of PMTiles that isn't a text is its JSON. MBTiles describe the layers of vector tiles in `json`, PMTiles
  /// in `vector_layers`.
  public var metadata: [String: String]

  /// The area of an archive that states none.
  package static let wholeMap = GeoBox(west: -180, south: -85, east: 180, north: 85)

  /// Creates metadata, for archives of your own kind. By default, only the container is known, and the area is the
  /// map.
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
  /// Returns the bytes of a tile ready for use, unpacked if the archive packs them with gzip. `nil` if it lacks the
  /// tile.
  ///
  /// Costs the read of `data(of:)`, and unpacks on the thread of the call. Brotli and Zstandard aren't unpacked.
  ///
  /// - Throws: `BothyError` `damagedArchive` for bytes that can't be unpacked, or that have more than 64 MB then.
  ///   Throws the errors of `data(of:)`.
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

/// Opens, creates and downloads archives.
public enum TileArchives {
  /// Opens a file by its content, independent of its name. Costs the same for any number of tiles.
  ///
  /// Blocks for a few reads, and never writes to the file. It stays open until the archive is released. A SQLite file
  /// that needs more than 20 seconds for one row counts as damaged.
  ///
  /// ```swift
  /// let hills = try await TileArchives.open(path: "hills.pmtiles")
  /// let bytes = try await hills.content(of: tile)
  /// ```
  ///
  /// - Throws: `BothyError`: `unavailable` if the file can't be read, and `notAnArchive` if it is of none of the three
  ///   kinds. Throws `damagedArchive` for a file that is cut off or can't be read, which has to be got again.
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

  /// Opens a PMTiles file on a server, which is read by range requests. Requests its first 16 KB and its last byte.
  ///
  /// Larger directories and metadata cost up to two more requests. A tile costs a request, and up to three more for
  /// directories that weren't read yet. A tile that the archive lacks costs a request of one byte.
  /// `ResourceSource.init(_:archive:)` reads through a cache, which stores what came.
  ///
  /// If the archive is replaced on the server, the next read of a tile opens it again.
  ///
  /// - Throws: `BothyError`: `unavailable` if the server can't be reached or does not send parts of files. Throws
  ///   `notAnArchive`, `damagedArchive` or `.cancelled`.
  public static func open(url: String, loader: any ResourceLoader) async throws -> any TileArchive {
    try await PMTiles(HTTPRangeSource(url: url, loader: loader))
  }

  /// Begins a file, which gets its name when `finish` is called.
  ///
  /// Until then, its content is in files beside it with the endings `.partial` and `.contents`.
  ///
  /// - Throws: `BothyError` `unavailable` if a file of this name exists, it can't be created, or the container is
  ///   `keyed`, which is only read.
  package static func writer(
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
