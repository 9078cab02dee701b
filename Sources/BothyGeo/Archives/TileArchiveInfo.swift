import BothyStore

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

  /// True if a tile without bytes is one without features. Otherwise the archive lacks such a tile.
  var keepsEmpty: Bool { tileFormat == "pbf" }

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
