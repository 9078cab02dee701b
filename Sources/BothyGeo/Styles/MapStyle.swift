public import BothyCache
public import BothyStore

/// A style of MapLibre or Mapbox with the TileJSON documents that it names: what a map is drawn from.
///
/// ```swift
/// let outdoors = try ResourceSource(
///   "outdoors", address: .anywhere, userAgent: "Hut/1.0 (hut.example.org)", allowsBulkDownload: true)
/// try cache.register(outdoors)
/// let style = try await MapStyle(
///   at: "https://maps.example.org/outdoors/style.json", of: "outdoors", in: cache)
/// let plan = OfflineRegions.Plan(name: "Oslo", style: style, area: .box(oslo), zooms: try ZoomRange(0, 14))
/// ```
///
/// A value type, safe from any thread.
public struct MapStyle: Sendable {
  /// The id of the source that its documents, sprites and glyphs belong to.
  package let source: SourceID
  /// The style as its server sent it.
  package let json: JSONValue
  /// The TileJSON documents by their addresses.
  package let documents: [String: JSONValue]
  /// All that a renderer can ask for to draw it.
  package let closure: MapClosure
  /// The address of the style, against which others are resolved.
  private let address: String
  /// The names of query items that are left out of addresses.
  private let secrets: Set<String>

  /// Reads a style and its TileJSON documents through a cache, and registers their sources of tiles there.
  ///
  /// Documents of an offline region are read from the disk, in the region's generation. Others are requested if they
  /// are stale: one request for the style, and one for each of its TileJSON documents. Each has at most 4 MB. Addresses
  /// and redirects that lead to the local network are refused, unless they come from the same machine.
  ///
  /// A source may be a PMTiles archive on a server (`pmtiles://https://…`), which is read in parts. Other addresses of
  /// archives, such as `mbtiles://hills.mbtiles`, mean files that the app has. Register each before, as a source whose id
  /// is that of the style, a slash, and the name in the style.
  ///
  /// - Parameters:
  ///   - url: the address of the style. Its query may have the secrets of the source.
  ///   - source: the id of a registered source with the address `.anywhere`. Its user agent, limits, freshness and
  ///     permission for bulk downloads hold for all that the style names, and its requests a second for all of that
  ///     together. Its secrets and headers are sent to the host of the style alone.
  /// - Throws: `BothyError`: `invalidSource` for a style that isn't one, or that a map can't be kept of. Errors of a
  ///   download.
  public init(at url: String, of source: SourceID, in cache: ResourceCache) async throws(BothyError) {
    try await self.init(at: url, of: source, in: cache) { key throws(BothyError) in
      try await cache.keptOrCurrent(key)
    }
  }

  /// Reads a style with a reader of its documents.
  init(
    at url: String, of source: SourceID, in cache: ResourceCache,
    read: (ResourceKey) async throws(BothyError) -> CachedResource
  ) async throws(BothyError) {
    let secrets = Set(try MapClosure.source(source, in: cache).secrets.keys)
    guard let place = StyleAddress(url) else {
      throw BothyError(.invalidSource, "\"\(url.prefix(200))\" isn't the address of a style on a web server.")
    }
    let address = place.leavingOut(secrets).text
    var known = MapClosure(style: address)
    try known.register(source, in: cache)
    let json = try await Self.document(address, known.key(address, of: source), read)
    let asked = try MapClosure.documents(of: json, at: address, secrets: secrets)
    known.archives = StyleArchive.names(asked)
    known = try await known.settled(source, in: cache)
    try known.register(source, in: cache)
    var documents: [String: JSONValue] = [:]
    for document in Set(asked.values).sorted() {
      let key = known.key(document, of: source)
      if StyleArchive.isFile(document) {
        // A file of the app is read in place, whatever the documents of servers are read for.
        documents[document] = try await Self.document(document, key) { key throws(BothyError) in
          try await cache.value(key)
        }
      } else {
        documents[document] = try await Self.document(document, key, read)
      }
    }
    known = try await MapClosure(json, at: address, tileJSON: documents, secrets: secrets)
      .settled(source, in: cache)
    try known.register(source, in: cache)
    (self.source, self.json, self.documents) = (source, json, documents)
    (self.address, self.secrets) = (address, secrets)
    closure = known
  }

  private static func document(
    _ address: String, _ key: ResourceKey, _ read: (ResourceKey) async throws(BothyError) -> CachedResource
  ) async throws(BothyError) -> JSONValue {
    let found = try await read(key)
    guard let bytes = found.bytes else { throw BothyError.absent(key, found) }
    return try MapClosure.document(bytes, at: address)
  }

  /// Returns what the owners of the data require beside a map of this part, as plain texts, each once.
  ///
  /// A source counts if it has tiles there and a layer draws it at this zoom. Texts that are a part of another are left
  /// out. Costs a look at each source of the style.
  public func attributions(in box: GeoBox, zoom: Double) -> [String] {
    let tiled = closure.tiles.filter { part in
      guard let drawn = part.drawn, part.bounds.intersects(box) else { return false }
      return zoom >= Double(drawn.lowest) && zoom <= Double(drawn.highest)
    }
    let others = (json["sources"]?.objectValue ?? [:]).sorted { $0.key < $1.key }.compactMap { _, source in
      source["type"]?.stringValue == "geojson" ? source["attribution"]?.stringValue : nil
    }
    return AttributionText.joined(tiled.map(\.attribution) + others)
  }
}

/// The addresses of single parts of a style. All are among those of its list.
extension MapStyle {
  /// Returns the address of the TileJSON document or of the archive of a source, or `nil`.
  func documentAddress(of source: JSONValue) -> String? {
    if let archive = StyleArchive.text(of: source) {
      // A style with another address was refused.
      return try? StyleAddress(address)?.resolving(archive: archive, for: "part", hiding: secrets)
    }
    return MapClosure.documentText(of: source).flatMap { resolved($0, in: closure.documents) }
  }

  /// Returns the address of a file of a sprite, such as `default@2x.png`, or `nil`.
  func spriteAddress(_ file: String) -> String? {
    guard let base = StyleAddress(address),
      // A style whose sprites have no address was refused.
      let sprites = try? MapClosure.sprites(json["sprite"], base)
    else { return nil }
    for sprite in sprites where file.hasPrefix(sprite.name) {
      let ending = String(file.dropFirst(sprite.name.count))
      guard [".json", ".png", "@2x.json", "@2x.png"].contains(ending) else { continue }
      return resolved(sprite.address.appending(ending), in: closure.files)
    }
    return nil
  }

  /// Returns the address of the data of a GeoJSON or image source, or `nil`.
  func dataAddress(_ name: String) -> String? {
    guard let source = json["sources"]?[name],
      let text = source["data"]?.stringValue ?? source["url"]?.stringValue
    else { return nil }
    return fileAddress(text)
  }

  /// Returns the address of a file as a text of the style means it, or `nil` if the style's list lacks it.
  func fileAddress(_ text: String) -> String? { resolved(text, in: closure.files) }

  /// Returns the address that a text of the style means, if it is one of these.
  private func resolved(_ text: String, in known: [String]) -> String? {
    // A style with another address was refused.
    guard let base = StyleAddress(address), let found = try? base.resolving(text, for: "part") else {
      return nil
    }
    let hidden = found.hiding(secrets, of: base).text
    return known.contains(hidden) ? hidden : nil
  }
}

extension ResourceCache {
  /// Returns a resource of a style. One that a region has pinned is read from the disk and not refreshed behind, so
  /// that a style never names what its region doesn't have.
  func keptOrCurrent(_ key: ResourceKey) async throws(BothyError) -> CachedResource {
    // A disk that can't be read says so below.
    if (try? await isPinned(key)) == true {
      do throws(BothyError) {
        return try await value(key, policy: .local)
      } catch {
        guard error.code == .notCached else { throw error }
      }
    }
    return try await value(key, policy: .localElseRemote, priority: .visible)
  }
}
