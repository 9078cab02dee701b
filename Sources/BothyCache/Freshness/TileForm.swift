/// The form of a source's tiles, as its description or the extension of its addresses states it.
package enum TileForm: String, Sendable, Hashable {
  case picture
  case vector
  case json

  /// Reads an extension or the name of a format, such as `png`, `pbf` or `geojson`. Returns `nil` for others.
  package init?(name: String) {
    switch name.lowercased() {
    case "png", "jpg", "jpeg", "gif", "webp", "avif", "svg": self = .picture
    case "pbf", "mvt": self = .vector
    case "json", "geojson", "topojson": self = .json
    default: return nil
    }
  }
}
