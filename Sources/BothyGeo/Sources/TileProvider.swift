public import BothyCache
internal import Foundation
public import HTTPTypes

/// A provider of tiles: the form of its addresses, and the settings of all its styles.
///
///     var provider = TileProvider("hills", template: "https://{s}.hills.example/{style}/{z}/{x}/{y}.png")
///     provider.hosts = ["a", "b"]
///     let outdoors = try provider.source(style: "outdoors")
///     let tile = try outdoors.tile(Tile(containing: position, zoom: 14))
public struct TileProvider: Sendable {
  /// The first part of the ids of its sources. The developer chooses it and must never change it.
  public let name: String
  /// An address with `{z}`, `{x}` and `{y}`, or other placeholders of `ResourceSource`. `{style}` is replaced by a
  /// style.
  public let template: String
  /// The values of `{s}` in the address. All hosts serve the same tiles, so the host isn't part of a key.
  public var hosts: [String] = []
  /// True if `{r}` in the address becomes `@2x`.
  public var highResolution = false
  /// The zooms of the tiles, by default 0 to 22.
  public var zooms = ZoomRange(unchecked: 0...22)
  /// The rule for how long tiles are fresh, by default HTTP's.
  public var freshness = FreshnessRule.http
  /// The headers of every request.
  public var headers: HTTPFields = [:]
  /// The user agent: the app's name and version, and a contact of its maker.
  public var userAgent: String?
  /// The limits for requests to its servers, and for the size of a response.
  public var limits = SourceLimits()
  /// The expected content of its tiles. Other content is rejected.
  ///
  /// `nil` rejects web pages, and other content in place of pictures. `ContentExpectation()` accepts everything.
  public var content: ContentExpectation?
  /// Query items that every request has, but no key, event, log or file, such as access tokens.
  public var secrets: [String: String] = [:]
  /// The names of the sources and their attribution.
  public var names = SourceNames()
  /// True if tiles may be loaded in bulk before they are viewed. False unless the provider's terms allow it.
  public var allowsBulkDownload = false

  /// Describes a provider. The address is checked when a source is created.
  public init(_ name: String, template: String) {
    self.name = name
    self.template = template
  }

  private static let plain = CharacterSet(
    charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

  /// Returns the source of the tiles in one style, with the id `name/style`, or `name` without styles.
  ///
  /// - Throws: `BothyError.invalidSource` if a style is given but the address has no `{style}`, or the reverse.
  public func source(style: String = "") throws(BothyError) -> TileSource {
    guard template.contains("{style}") != style.isEmpty else {
      throw BothyError(
        .invalidSource,
        style.isEmpty
          ? "The address of \(name) has {style}: say which style."
          : "The address of \(name) has no place for the style '\(style)': write {style} where it belongs.")
    }
    let text = style.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? style
    let resource = try ResourceSource(
      SourceID(style.isEmpty ? name : "\(name)/\(style)"),
      template: template.replacing("{style}", with: text),
      hosts: hosts, highResolution: highResolution, freshness: freshness, headers: headers,
      userAgent: userAgent, limits: limits, content: content, secrets: secrets,
      zooms: zooms.lowest...zooms.highest, names: names, allowsBulkDownload: allowsBulkDownload)
    return TileSource(provider: self, style: style, resource: resource)
  }
}

/// The tiles of a provider in one style. All its hosts share its identity, and no other style does.
public struct TileSource: Sendable, Identifiable {
  /// The provider, as it was when the source was created.
  public let provider: TileProvider
  /// The style, or an empty text if the provider has only one.
  public let style: String
  /// The source that a cache uses.
  public let resource: ResourceSource

  public var id: SourceID { resource.id }

  /// Returns one of its tiles. Throws `BothyError.zoomOutOfRange` outside its zooms.
  public func tile(_ tile: Tile) throws(BothyError) -> SourceTile {
    _ = try resource.key(tile)
    return SourceTile(source: id, tile: tile)
  }
}

/// A tile of a source. A cache stores it once.
public struct SourceTile: Hashable, Sendable, CustomStringConvertible {
  /// The source of the tile.
  public let source: SourceID
  /// The tile.
  public let tile: Tile

  /// Creates a tile without checking the zoom, which `TileSource.tile` does.
  public init(source: SourceID, tile: Tile) {
    self.source = source
    self.tile = tile
  }

  /// Creates the tile that a key names, or `nil` for keys of other resources.
  public init?(_ key: ResourceKey) {
    guard let tile = Tile(key) else { return nil }
    self.init(source: key.source, tile: tile)
  }

  /// The key of the tile in a cache.
  public var key: ResourceKey { tile.key(in: source) }

  /// The text `source/zoom/x/y`.
  public var description: String { "\(source)/\(tile)" }
}
