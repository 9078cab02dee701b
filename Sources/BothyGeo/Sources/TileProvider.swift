public import BothyCache
internal import Foundation
public import HTTPTypes

/// Who serves tiles: the form of its addresses, and all that holds for each of its styles.
///
///     var provider = TileProvider("hills", template: "https://{s}.hills.example/{style}/{z}/{x}/{y}.png")
///     provider.hosts = ["a", "b"]
///     let outdoors = try provider.source(style: "outdoors")
///     let tile = try outdoors.tile(Tile(containing: position, zoom: 14))
public struct TileProvider: Sendable {
  /// Chosen by the developer and kept for ever: the first part of the ids of its sources.
  public let name: String
  /// An address with `{z}`, `{x}` and `{y}`, or what else `ResourceSource` knows; `{style}` stands for a style.
  public let template: String
  /// What `{s}` in the address stands for. They bring the same tiles; which one is asked is in no key.
  public var hosts: [String] = []
  /// Whether `{r}` in the address becomes `@2x`.
  public var highResolution = false
  /// The zooms at which there are tiles; 0 to 22 unless set.
  public var zooms = ZoomRange(unchecked: 0...22)
  /// How long tiles count as fresh; as the server says unless set.
  public var freshness = FreshnessRule.http
  /// Sent with every request.
  public var headers: HTTPFields = [:]
  /// Who asks: the app's name and version and how to reach its maker.
  public var userAgent: String?
  /// How hard its servers may be asked, and how much of an answer is taken in.
  public var limits = SourceLimits()
  /// What its tiles look like; anything else is refused. Nil refuses web pages, and other things in the place of
  /// pictures; `ContentExpectation()` takes all.
  public var content: ContentExpectation?
  /// Query items that every request carries and no key, event, log or file: access tokens.
  public var secrets: [String: String] = [:]
  /// What the sources are called, and whom to thank.
  public var names = SourceNames()
  /// Whether tiles may be loaded in bulk that nobody looks at. No, unless its terms allow it.
  public var allowsBulkDownload = false

  /// Describes a provider; the address is checked when a source is made of it.
  public init(_ name: String, template: String) {
    self.name = name
    self.template = template
  }

  private static let plain = CharacterSet(
    charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

  /// The source of the tiles in one style, under the id `name/style`; under `name` where there are no styles.
  ///
  /// - Throws: `CacheError.invalidSource` when a style is given and none has a place, or the other way round.
  public func source(style: String = "") throws(CacheError) -> TileSource {
    guard template.contains("{style}") != style.isEmpty else {
      throw CacheError(
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

/// The tiles of a provider in one style: one identity for all its hosts, and one that no other style shares.
public struct TileSource: Sendable, Identifiable {
  /// The provider, as it was when the source was made.
  public let provider: TileProvider
  /// Empty where the provider has but one.
  public let style: String
  /// What a cache is told of it.
  public let resource: ResourceSource

  public var id: SourceID { resource.id }

  /// One of its tiles. Throws `CacheError.zoomOutOfRange` outside its zooms.
  public func tile(_ tile: Tile) throws(CacheError) -> SourceTile {
    _ = try resource.key(tile)
    return SourceTile(source: id, tile: tile)
  }
}

/// A tile of a source: what is kept in a cache once.
public struct SourceTile: Hashable, Sendable, CustomStringConvertible {
  /// The source that the tile is of.
  public let source: SourceID
  /// Which tile it is.
  public let tile: Tile

  /// Checks no zoom; `TileSource.tile` does.
  public init(source: SourceID, tile: Tile) {
    self.source = source
    self.tile = tile
  }

  /// The tile that a key names; nil for keys of other resources.
  public init?(_ key: ResourceKey) {
    guard let tile = Tile(key) else { return nil }
    self.init(source: key.source, tile: tile)
  }

  /// What the tile is called in a cache.
  public var key: ResourceKey { tile.key(in: source) }

  /// `source/zoom/x/y`.
  public var description: String { "\(source)/\(tile)" }
}
