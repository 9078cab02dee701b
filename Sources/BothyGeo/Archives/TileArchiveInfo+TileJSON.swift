internal import BothyStore

/// The description of an archive as renderers read it.
extension TileArchiveInfo {
  /// The path of the TileJSON document among the resources of a source that is an archive.
  static let documentPath = "tilejson.json"

  /// The TileJSON document (version 3.0.0), without addresses of tiles.
  var tileJSON: JSONValue {
    let bounds = bounds.stated
    var members: [String: JSONValue] = [
      "tilejson": "3.0.0", "scheme": "xyz",
      "bounds": [.double(bounds.west), .double(bounds.south), .double(bounds.east), .double(bounds.north)],
    ]
    if let zooms {
      members["minzoom"] = .int(Int64(zooms.lowest))
      members["maxzoom"] = .int(Int64(zooms.highest))
    }
    if let name { members["name"] = .string(name) }
    if let attribution { members["attribution"] = .string(attribution) }
    if let encoding = metadata["encoding"] { members["encoding"] = .string(encoding) }
    if tileFormat == "pbf" { members["vector_layers"] = vectorLayers ?? [] }
    return .object(members)
  }

  /// The layers of vector tiles. MBTiles have them in a text of JSON, and PMTiles as a member of their own.
  package var vectorLayers: JSONValue? {
    // Text that isn't JSON describes no layers.
    if let text = metadata["vector_layers"] { return try? JSONValue(parsing: text) }
    return metadata["json"].flatMap { try? JSONValue(parsing: $0) }?["vector_layers"]
  }
}
