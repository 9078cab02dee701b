import BothyStore

/// Writing a vector tile as GeoJSON, for people and for comparisons with other decoders.
extension VectorTile {
  /// Returns a collection with all features of all layers, on one line.
  ///
  /// Each feature has the member `layer` beside those of RFC 7946, and the collection the members `layers` and
  /// `problems`. Numbers keep their values, also 64-bit ones.
  ///
  /// With a tile, positions are degrees, and a feature with one that isn't on earth has the geometry `null`. Without
  /// one, positions are those of the grid, exactly as stored. The margin of the tile is included in both.
  package func geoJSON(in tile: Tile?) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("type", "FeatureCollection")
      writer.list("layers", layers) { writer, layer in
        writer.member("name", layer.name)
        writer.member("version", layer.version)
        writer.member("extent", layer.extent)
      }
      writer.list("problems", problems) { writer, problem in
        writer.member("index", problem.index)
        writer.member("reason", problem.reason)
      }
      writer.key("features")
      writer.beginArray()
      for layer in layers {
        let place = PositionWriter(
          projection: tile.map { TileGridProjection(tile: $0, extent: layer.extent) })
        for feature in layer.features {
          writer.object { Self.write(feature, of: layer, place, to: &$0) }
        }
      }
      writer.endArray()
    }
    return writer.bytes
  }

  private static func write(
    _ feature: Feature, of layer: Layer, _ place: PositionWriter, to writer: inout JSONWriter
  ) {
    writer.member("type", "Feature")
    writer.member("layer", layer.name)
    if let id = feature.id {
      writer.key("id")
      writer.raw("\(id)")
    }
    writer.key("geometry")
    place.write(feature.shape, to: &writer)
    var values: [String: Value] = [:]
    for (key, value) in layer.properties(of: feature) { values[key] = value }
    writer.object("properties") { writer in
      for (key, value) in values.sorted(by: { $0.key < $1.key }) {
        writer.key(key)
        value.write(to: &writer)
      }
    }
  }
}

extension VectorTile.Value {
  fileprivate func write(to writer: inout JSONWriter) {
    switch self {
    case .string(let text): writer.value(text)
    case .float(let number): writer.value(Double(number))
    case .double(let number): writer.value(number)
    case .int(let number): writer.value(number)
    case .uint(let number): writer.raw("\(number)")
    case .bool(let flag): writer.value(flag)
    }
  }
}

/// Writes shapes in degrees or on the grid.
private struct PositionWriter {
  let projection: TileGridProjection?

  func write(_ shape: GridShape?, to writer: inout JSONWriter) {
    guard let shape, isOnEarth(shape) else { return writer.null() }
    writer.object { writer in
      switch shape {
      case .points(let points):
        writer.member("type", points.count == 1 ? "Point" : "MultiPoint")
        writer.key("coordinates")
        if points.count == 1 { write(points[0], to: &writer) } else { write(points, to: &writer) }
      case .lines(let lines):
        writer.member("type", lines.count == 1 ? "LineString" : "MultiLineString")
        writer.key("coordinates")
        if lines.count == 1 { write(lines[0], to: &writer) } else { write(lines, to: &writer) }
      case .polygons(let polygons):
        writer.member("type", polygons.count == 1 ? "Polygon" : "MultiPolygon")
        writer.key("coordinates")
        if polygons.count == 1 { return write(polygons[0], to: &writer) }
        writer.beginArray()
        for rings in polygons { write(rings, to: &writer) }
        writer.endArray()
      }
    }
  }

  private func isOnEarth(_ shape: GridShape) -> Bool {
    guard let projection else { return true }
    return shape.points.allSatisfy { projection.coordinate($0) != nil }
  }

  private func write(_ lines: [[GridPoint]], to writer: inout JSONWriter) {
    writer.beginArray()
    for line in lines { write(line, to: &writer) }
    writer.endArray()
  }

  private func write(_ points: [GridPoint], to writer: inout JSONWriter) {
    writer.beginArray()
    for point in points { write(point, to: &writer) }
    writer.endArray()
  }

  private func write(_ point: GridPoint, to writer: inout JSONWriter) {
    writer.beginArray()
    if let coordinate = projection?.coordinate(point) {
      writer.value(coordinate.longitude)
      writer.value(coordinate.latitude)
    } else {
      writer.value(point.x)
      writer.value(point.y)
    }
    writer.endArray()
  }
}
