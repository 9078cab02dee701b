public import BothyCache
public import BothyStore

/// What a TileJSON document (version 3.0.0) says of a source of tiles.
public struct TileJSON: Sendable, Hashable {
  /// What the source is called; empty where the document does not say.
  public var name: String
  /// Whom to thank, as it is written in the document, which may be HTML; empty where it does not say.
  public var attribution: String
  /// Addresses of tiles, one for each host; the places `{z}`, `{x}` and `{y}`, or `{-y}` where rows count from the south.
  public var templates: [String]
  /// The zooms that have tiles; 0 to 22 where the document does not say.
  public var zooms: ZoomRange
  /// Where there are tiles; the world where the document does not say.
  public var bounds: GeoBox

  /// Reads a document. Throws `GeoError` `.invalidSource`, naming the member that is wrong.
  public init(json source: some ContiguousBytesSource) throws(GeoError) {
    let json: JSONValue
    do { json = try JSONValue(parsing: source) } catch {
      throw GeoError(.invalidSource, "The TileJSON document is not JSON. \(error)", underlying: error)
    }
    let addresses = (json["tiles"]?.arrayValue ?? []).map(\.stringValue)
    guard !addresses.isEmpty, !addresses.contains(nil) else {
      throw GeoError(.invalidSource, "The TileJSON document needs 'tiles', a list of addresses.")
    }
    let scheme = json["scheme"]?.stringValue ?? "xyz"
    guard ["xyz", "tms"].contains(scheme) else {
      throw GeoError(
        .invalidSource, "The TileJSON document has the scheme '\(scheme)'; there are xyz and tms.")
    }
    templates = addresses.compactMap { $0 }.map {
      scheme == "tms" ? $0.replacing("{y}", with: "{-y}") : $0
    }
    name = json["name"]?.stringValue ?? ""
    attribution = json["attribution"]?.stringValue ?? ""
    zooms = try ZoomRange(Self.zoom(json, "minzoom") ?? 0, Self.zoom(json, "maxzoom") ?? 22)
    bounds = try Self.bounds(json["bounds"])
  }

  /// The source that the document describes, under an id of the app's choice. Addresses that differ in nothing but the
  /// host become one with several hosts; otherwise the first counts.
  ///
  /// Loading in bulk stays forbidden: no document can allow it, its owner's terms can.
  public func source(
    _ id: SourceID, freshness: FreshnessRule = .http, userAgent: String? = nil,
    allowsBulkDownload: Bool = false
  ) throws(CacheError) -> ResourceSource {
    let parts = templates.map(Self.split)
    let first = parts[0]
    let isOneSource = parts.allSatisfy { $0.before == first.before && $0.after == first.after }
    let hosts = isOneSource && parts.count > 1 ? parts.map(\.host) : []
    return try ResourceSource(
      id, template: hosts.isEmpty ? templates[0] : first.before + "{s}" + first.after, hosts: hosts,
      freshness: freshness, userAgent: userAgent, zooms: zooms.lowest...zooms.highest,
      names: SourceNames(short: name, long: name, attribution: attribution),
      allowsBulkDownload: allowsBulkDownload)
  }

  private static func zoom(_ json: JSONValue, _ name: String) throws(GeoError) -> Int? {
    guard let member = json[name], !member.isNull else { return nil }
    guard let zoom = member.intValue else {
      throw GeoError(.invalidSource, "The TileJSON document's '\(name)' must be a whole number.")
    }
    return Int(clamping: zoom)
  }

  private static func bounds(_ json: JSONValue?) throws(GeoError) -> GeoBox {
    guard let json, !json.isNull else { return .world }
    let edges = (json.arrayValue ?? []).compactMap(\.doubleValue)
    guard edges.count == 4 else {
      throw GeoError(.invalidSource, "The TileJSON document's 'bounds' must be [west, south, east, north].")
    }
    return try GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]).checked()
  }

  /// The address before its host, the host, and what comes after.
  private static func split(_ address: String) -> (before: String, host: String, after: String) {
    guard let scheme = address.firstRange(of: "://") else { return (address, "", "") }
    let rest = address[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    return (String(address[..<scheme.upperBound]), String(rest[..<end]), String(rest[end...]))
  }
}
