import BothyCache
import BothyStore
import Foundation

/// The zooms of the map at which the layers of a style draw each source, hidden layers included.
struct StyleUses {
  /// The source of the terrain.
  let terrain: String?
  private var zooms: [String: ZoomRange] = [:]

  private static let lastZoom = 24.0

  /// - Parameter terrain: the source of a terrain, which is drawn at every zoom, one zoom coarser.
  init(_ layers: [JSONValue], terrain: String?) {
    self.terrain = terrain
    for layer in layers {
      guard let source = layer["source"]?.stringValue else { continue }
      let low = layer["minzoom"]?.doubleValue ?? 0
      let high = layer["maxzoom"]?.doubleValue ?? Self.lastZoom
      add(source, Self.whole(low, .down), Self.whole(high, .up))
    }
    if let terrain { add(terrain, 0, Int(Self.lastZoom)) }
  }

  /// Returns the zooms of the map at which a source is drawn, or `nil`.
  subscript(source: String) -> ZoomRange? { zooms[source] }

  private mutating func add(_ source: String, _ low: Int, _ high: Int) {
    guard low <= high else { return }
    zooms[source] = ZoomRange(unchecked: low...high).joined(with: zooms[source])
  }

  private static func whole(_ zoom: Double, _ rule: FloatingPointRoundingRule) -> Int {
    Int(min(max(zoom.isNaN ? 0 : zoom, 0), lastZoom).rounded(rule))
  }
}

extension MapClosure.Tiles {
  /// Reads a source of a style. Its own members go before those of its TileJSON document, as in renderers.
  ///
  /// - Parameter asked: the address of the document or of the archive that it describes, or `nil` without one.
  init(
    _ source: JSONValue, _ name: String, _ document: JSONValue?, _ asked: String?, _ uses: StyleUses,
    _ base: StyleAddress, _ secrets: Set<String>
  ) throws(BothyError) {
    var members = document?.objectValue ?? [:]
    for (key, member) in source.objectValue ?? [:] where key != "url" { members[key] = member }
    let archive = asked.flatMap { StyleArchive.isArchive($0) ? $0 : nil }
    // The tiles of an archive have no addresses.
    var templates: [JSONValue] = archive == nil ? [] : ["{z}/{x}/{y}"]
    let place = source["tiles"] == nil ? asked.flatMap { StyleAddress($0) } ?? base : base
    for text in (members["tiles"]?.arrayValue ?? []).prefix(archive == nil ? 16 : 0) {
      let address = try place.resolving(text.stringValue ?? "", for: "source '\(name)'").hiding(
        secrets, of: base)
      templates.append(
        .string(address.text.replacing("{ratio}", with: "{r}").replacing("{quadkey}", with: "{q}")))
    }
    members["tiles"] = .array(templates)
    members["bounds"] = members["bounds"].flatMap(Self.clamped)
    let tileJSON: TileJSON
    let kept: ResourceSource?
    do {
      tileJSON = try TileJSON(members: .object(members))
      kept = try archive == nil ? tileJSON.source("style") : nil
    } catch {
      throw BothyError(.invalidSource, "The style's source '\(name)': \(error.message)", underlying: error)
    }
    guard let template = archive ?? kept?.address.templateText else {
      let text = kept?.address.baseText ?? ""
      throw BothyError(
        .invalidSource, "The style's source '\(name)' has an address without {z}, {x} and {y}: \(text).")
    }
    let shift = Self.shift(members)
    // A terrain needs tiles that are one zoom coarser than the map's.
    self.init(
      names: [name], template: template, hosts: kept?.hosts ?? [], zooms: tileJSON.zooms,
      leastShift: uses.terrain == name ? shift - 1 : shift, mostShift: shift, drawn: uses[name],
      bounds: tileJSON.bounds, attribution: tileJSON.attribution, form: tileJSON.form)
  }

  /// The zoom of a tile above that of the map, as renderers divide 512 by the size of a tile.
  private static func shift(_ members: [String: JSONValue]) -> Double {
    guard members["type"]?.stringValue != "vector", let size = members["tileSize"]?.doubleValue,
      size >= 16, size <= 8192
    else { return 0 }
    return 9 - log2(size)
  }

  private static func clamped(_ bounds: JSONValue) -> JSONValue? {
    let edges = (bounds.arrayValue ?? []).compactMap(\.doubleValue)
    guard edges.count == 4 else { return nil }
    let least = [-180.0, -90, -180, -90]
    return .array(zip(edges, least).map { .double(min(max($0, $1), -$1)) })
  }

  /// True if both have the same tiles.
  func isSame(as other: Self) -> Bool { template == other.template && hosts == other.hosts }

  /// Adds what another source of the same tiles needs.
  mutating func join(_ other: Self) {
    names += other.names
    if form != other.form { form = nil }
    leastShift = min(leastShift, other.leastShift)
    mostShift = max(mostShift, other.mostShift)
    zooms = zooms.joined(with: other.zooms)
    drawn = drawn?.joined(with: other.drawn) ?? other.drawn
  }
}

extension SourceAddress {
  /// The template of tiles, or `nil` for other addresses.
  var templateText: String? {
    guard case .tiles(let template) = form else { return nil }
    return template.text
  }

  /// The address below which paths are read, or an empty text for other addresses.
  fileprivate var baseText: String {
    guard case .base(let text) = form else { return "" }
    return text
  }
}
