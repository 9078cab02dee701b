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
  public var highResolution = false
  public var zooms = ZoomRange(unchecked: 0...22)
  public var freshness = FreshnessRule.http
  public var headers: HTTPFields = [:]
  /// Who asks: the app's name and version and how to reach its maker.
  public var userAgent: String?
  public var limits = SourceLimits()
  public var content: ContentExpectation?
  public var secrets: [String: String] = [:]
  public var names = SourceNames()
  /// Whether tiles may be loaded in bulk that nobody looks at. No, unless its terms allow it.
  public var allowsBulkDownload = false

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
  public let source: SourceID
  public let tile: Tile

  public init(source: SourceID, tile: Tile) {
    self.source = source
    self.tile = tile
  }

  /// The tile that a key names; nil for keys of other resources.
  public init?(_ key: ResourceKey) {
    guard let tile = Tile(key) else { return nil }
    self.init(source: key.source, tile: tile)
  }

  public var key: ResourceKey { tile.key(in: source) }

  /// `source/zoom/x/y`.
  public var description: String { "\(source)/\(tile)" }
}
