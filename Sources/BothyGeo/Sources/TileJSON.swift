package import BothyCache
package import BothyStore

/// The content of a TileJSON document (version 3.0.0), which describes a source of tiles.
package struct TileJSON: Sendable, Hashable {
  /// The name of the source, or an empty text if the document has none.
  package var name: String
  /// The attribution, or an empty text if the document has none. It may be HTML.
  package var attribution: String
  /// The addresses of tiles, one for each host. They contain `{z}`, `{x}` and `{y}`, or `{-y}` for rows from the south.
  package var templates: [String]
  /// The zooms of the tiles, by default 0 to 22. A higher end than that of tiles becomes 29.
  package var zooms: ZoomRange
  /// The area of the tiles, by default the world.
  package var bounds: GeoBox
  /// The form of the tiles, or `nil` if the document doesn't state one that is known.
  package var form: TileForm?

  /// Reads a document. Throws `BothyError` `invalidSource`, which names the invalid member.
  package init(json source: some ContiguousBytesSource) throws(BothyError) {
    let json: JSONValue
    do { json = try JSONValue(parsing: source) } catch {
      throw BothyError(.invalidSource, "The TileJSON document is not JSON. \(error)", underlying: error)
    }
    try self.init(members: json)
  }

  /// Reads the members of a document that was parsed already.
  init(members json: JSONValue) throws(BothyError) {
    let addresses = (json["tiles"]?.arrayValue ?? []).map(\.stringValue)
    guard !addresses.isEmpty, !addresses.contains(nil) else {
      throw BothyError(.invalidSource, "The TileJSON document needs 'tiles', a list of addresses.")
    }
    let scheme = json["scheme"]?.stringValue ?? "xyz"
    guard ["xyz", "tms"].contains(scheme) else {
      throw BothyError(
        .invalidSource, "The TileJSON document has the scheme '\(scheme)'; there are xyz and tms.")
    }
    templates = addresses.compactMap { $0 }.map {
      scheme == "tms" ? $0.replacing("{y}", with: "{-y}") : $0
    }
    name = json["name"]?.stringValue ?? ""
    attribution = json["attribution"]?.stringValue ?? ""
    // Documents may name zoom 30 (3.7 and 3.8), which no `Tile` has.
    let highest = try min(Self.zoom(json, "maxzoom") ?? 22, Tile.zooms.upperBound)
    zooms = try ZoomRange(Self.zoom(json, "minzoom") ?? 0, highest)
    bounds = try Self.bounds(json["bounds"])
    form = Self.form(json)
  }

  /// Returns the source that the document describes, with an id that the app chooses.
  ///
  /// Addresses that differ only in the host become one address with several hosts. Otherwise the first address counts.
  ///
  /// Loading in bulk stays forbidden, as only the owner's terms can allow it, not a document.
  package func source(
    _ id: SourceID, freshness: FreshnessRule = .http, userAgent: String? = nil,
    allowsBulkDownload: Bool = false
  ) throws(BothyError) -> ResourceSource {
    let parts = templates.map(Self.split)
    let first = parts[0]
    let isOneSource = parts.allSatisfy { $0.before == first.before && $0.after == first.after }
    let hosts = isOneSource && parts.count > 1 ? parts.map(\.host) : []
    var source = try ResourceSource(
      id, template: hosts.isEmpty ? templates[0] : first.before + "{s}" + first.after, hosts: hosts,
      freshness: freshness, userAgent: userAgent, zooms: zooms.lowest...zooms.highest,
      names: SourceNames(short: name, long: name, attribution: attribution),
      allowsBulkDownload: allowsBulkDownload)
    source.tileForm = form
    return source
  }

  /// Returns the form that the members of a document or of a style's source state. A style has a `type`.
  private static func form(_ json: JSONValue) -> TileForm? {
    switch json["type"]?.stringValue {
    case "raster", "raster-dem": return .picture
    // Others than Mapbox Vector Tiles aren't known.
    case "vector": return json["encoding"]?.stringValue ?? "mvt" == "mvt" ? .vector : nil
    default: break
    }
    if let format = json["format"]?.stringValue { return TileForm(name: format) }
    if json["vector_layers"]?.arrayValue != nil { return .vector }
    // Only pictures have a size.
    return json["tileSize"]?.doubleValue == nil ? nil : .picture
  }

  private static func zoom(_ json: JSONValue, _ name: String) throws(BothyError) -> Int? {
    guard let member = json[name], !member.isNull else { return nil }
    guard let zoom = member.intValue else {
      throw BothyError(.invalidSource, "The TileJSON document's '\(name)' must be a whole number.")
    }
    return Int(clamping: zoom)
  }

  private static func bounds(_ json: JSONValue?) throws(BothyError) -> GeoBox {
    guard let json, !json.isNull else { return .world }
    let edges = (json.arrayValue ?? []).compactMap(\.doubleValue)
    guard edges.count == 4 else {
      throw BothyError(.invalidSource, "The TileJSON document's 'bounds' must be [west, south, east, north].")
    }
    return try GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]).checked()
  }

  /// Splits an address at its host.
  private static func split(_ address: String) -> (before: String, host: String, after: String) {
    guard let scheme = address.firstRange(of: "://") else { return (address, "", "") }
    let rest = address[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    return (String(address[..<scheme.upperBound]), String(rest[..<end]), String(rest[end...]))
  }
}
