import BothyStore

/// Reads a GeoJSON geometry in one pass, in any order of its type and coordinates.
///
/// Coordinates are read by their nesting depth. The type is then applied to them.
struct GeometryReader {
  private var positions: [Coordinate] = []
  /// The ends of the lists of positions, and the ends of the lists of such lists.
  private var lineEnds: [Int] = []
  private var polygonEnds: [Int] = []
  /// The number of arrays around a position, or `nil` before the first position.
  private var depth: Int?

  /// Reads a geometry. Of a collection, only the areas count, or else only the lines.
  static func read(_ reader: inout JSONReader) throws -> Geometry {
    var type: String?
    var found: GeometryReader?
    var members: [Geometry]?
    try reader.object { name, reader in
      switch name {
      case "type": type = try reader.string()
      case "coordinates":
        var coordinates = GeometryReader()
        try coordinates.readArray(&reader, level: 0)
        found = coordinates
      case "geometries":
        var geometries: [Geometry] = []
        try reader.array { geometries.append(try read(&$0)) }
        members = geometries
      default: try reader.skip()
      }
    }
    guard let type else { throw BrokenFeature(reason: "its geometry has no type") }
    if type == "GeometryCollection" {
      guard let joined = Geometry(joining: members ?? []) else {
        throw BrokenFeature(reason: "its geometry has no positions")
      }
      return joined
    }
    guard let found else { throw BrokenFeature(reason: "its geometry has no coordinates") }
    return try found.geometry(type)
  }

  /// Reads a position, or a list whose elements are one level deeper.
  private mutating func readArray(_ reader: inout JSONReader, level: Int) throws {
    guard level <= 3 else { throw BrokenFeature(reason: "its coordinates are nested too deep") }
    var values = (longitude: 0.0, latitude: 0.0)
    var count = 0
    var isPosition = false
    try reader.array { reader in
      if count == 0 { isPosition = try reader.peek() == .number }
      if isPosition {
        let value = try reader.double()
        if count == 0 { values.longitude = value } else if count == 1 { values.latitude = value }
      } else {
        try readArray(&reader, level: level + 1)
      }
      count += 1
    }
    if isPosition { return try add(values.longitude, values.latitude, count, level: level) }
    if let depth {
      guard level < depth else { throw BrokenFeature(reason: "its coordinates are nested unevenly") }
      if level == depth - 1 { lineEnds.append(positions.count) }
      if level == depth - 2 { polygonEnds.append(lineEnds.count) }
    }
  }

  /// Adds a position of two numbers. A third number, the height, is ignored.
  private mutating func add(_ longitude: Double, _ latitude: Double, _ count: Int, level: Int) throws {
    guard count >= 2 else { throw BrokenFeature(reason: "a position has fewer than two numbers") }
    guard depth ?? level == level else { throw BrokenFeature(reason: "its coordinates are nested unevenly") }
    guard (-90...90).contains(latitude), (-540...540).contains(longitude) else {
      throw BrokenFeature(reason: "the position [\(longitude), \(latitude)] is not on earth")
    }
    depth = level
    positions.append(
      Coordinate(latitude: latitude, longitude: Geodesy.normalized(longitude: longitude)))
  }

  private func geometry(_ type: String) throws -> Geometry {
    guard let depth else { throw BrokenFeature(reason: "its geometry has no positions") }
    switch (type, depth) {
    case ("Point", 0): return .point(positions[0])
    case ("MultiPoint", 1): return .multiPoint(positions)
    case ("LineString", 1): return .lineString(positions)
    case ("MultiLineString", 2): return .multiLineString(lines[...].filter { !$0.isEmpty })
    case ("Polygon", 2):
      guard let polygon = GeoPolygon(rings: lines) else { break }
      return .polygon(polygon)
    case ("MultiPolygon", 3):
      var start = 0
      let all = lines
      return .multiPolygon(
        polygonEnds.compactMap { end in
          defer { start = end }
          return GeoPolygon(rings: Array(all[start..<end]))
        })
    case ("Point", _), ("MultiPoint", _), ("LineString", _), ("MultiLineString", _), ("Polygon", _),
      ("MultiPolygon", _):
      break
    default: throw BrokenFeature(reason: "its geometry is a '\(type)', which is not supported")
    }
    throw BrokenFeature(reason: "the coordinates are not those of a \(type)")
  }

  private var lines: [[Coordinate]] {
    var start = 0
    return lineEnds.map { end in
      defer { start = end }
      return Array(positions[start..<end])
    }
  }
}

/// The reason why one feature can't be used, as the end of a sentence. The rest of its tile is still valid.
struct BrokenFeature: Error {
  var reason: String
}
