public import BothyCache

extension OfflineRegions {
  /// The plan of an offline region: an area of the map, at some zooms, of one source or of all that a style needs.
  ///
  /// A plain value. `OfflineRegions.estimate(_:)` says how large it is, and `create(_:)` makes a region of it.
  public struct Plan: Sendable, Hashable {
    /// The name for users. No other region has the same name.
    package var name: String
    /// The source of the tiles, or of the style, which the cache must know.
    ///
    /// It must allow bulk downloads (`allowsBulkDownload`). A source that is a file on this device needs no region.
    public var source: SourceID
    /// The area of the map. Each tile with a part of it is loaded.
    public var area: RegionArea
    /// The zooms, all of which the source must have. With a style, the zooms of the map.
    ///
    /// Each further zoom has about four times as many tiles as the one before.
    public var zooms: ZoomRange
    /// All that the style needs, or `nil` for tiles of one source.
    package var map: MapClosure?

    /// Describes a region. `OfflineRegions.create` checks it.
    ///
    /// The name is for people. It must not be empty, and no other region of the list may have it.
    public init(name: String, source: SourceID, area: RegionArea, zooms: ZoomRange) {
      self.name = name
      self.source = source
      self.area = area
      self.zooms = zooms
    }

    /// Describes a region with all that a renderer requests to draw a style there, between two zooms of the map.
    ///
    /// That is the style, its TileJSON documents, the tiles of its sources, all glyphs of its fonts, its sprites and its
    /// GeoJSON.
    ///
    /// Glyphs are 256 requests for each list of fonts. They are loaded once for all regions. A map that is tilted shows
    /// coarser tiles at its horizon, so give it a lower zoom to begin with.
    public init(name: String, style: MapStyle, area: RegionArea, zooms: ZoomRange) {
      self.init(name: name, source: style.source, area: area, zooms: zooms)
      map = style.closure
    }

    /// Returns the tiles of a region of one source, coarse ones first. Throws `BothyError` for an invalid area.
    package func tiles() throws(BothyError) -> OfflineRegions.Tiles {
      try OfflineRegions.Tiles(area, zooms: zooms)
    }

    /// The keys of the style and its TileJSON documents, at the beginning of `keys()`.
    var documentKeys: [ResourceKey] { map.map { $0.keys($0.requestedDocuments, of: source) } ?? [] }

    /// Returns the keys of all that the region has. Throws `BothyError` for an invalid area.
    package func keys() throws(BothyError) -> RegionKeys { try RegionKeys(self) }
  }
}
