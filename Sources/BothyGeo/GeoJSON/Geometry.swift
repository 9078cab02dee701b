public import BothyStore

/// The position and shape of a feature (RFC 7946, without collections).
///
/// Positions are in degrees. Heights are left out when a tile is read, and longitudes beyond ±180° wrap around the
/// world. Of a collection, the areas count, or else the lines.
public enum Geometry: Hashable, Sendable {
  /// One position.
  case point(Coordinate)
  /// Several positions, in no order. It may be empty only in a value that an app creates.
  case multiPoint([Coordinate])
  /// A line through positions, straight in degrees from one to the next. A line across the antimeridian takes the
  /// shorter way.
  case lineString([Coordinate])
  /// Several lines, which need not touch each other.
  case multiLineString([[Coordinate]])
  /// An area, with or without holes. A position on an edge belongs to it.
  case polygon(GeoPolygon)
  /// Several areas. A position within one of them is within the shape.
  case multiPolygon([GeoPolygon])

  /// The kind of extent of a shape.
  package enum Extent: String, Sendable, Hashable, CaseIterable {
    /// One position or several.
    case point
    /// One line or several.
    case line
    /// One area or several.
    case area
  }

  /// The kind of extent, independent of the number of parts.
  package var extent: Extent {
    switch self {
    case .point, .multiPoint: .point
    case .lineString, .multiLineString: .line
    case .polygon, .multiPolygon: .area
    }
  }

  /// The positions in order. For polygons, those of the outer rings.
  package var outline: [Coordinate] {
    switch self {
    case .point(let position): [position]
    case .multiPoint(let positions), .lineString(let positions): positions
    case .multiLineString(let lines): lines.flatMap { $0 }
    case .polygon(let polygon): polygon.exterior
    case .multiPolygon(let polygons): polygons.flatMap(\.exterior)
    }
  }

  /// The smallest box around the shape, by the shorter way around the world, or `nil` without positions.
  package var bounds: GeoBox? { GeoBox(around: outline) }

  /// The middle of the box around the shape, or `nil` without positions.
  package var center: Coordinate? {
    if case .point(let position) = self { return position }
    return bounds?.center
  }

  /// Returns true if the area contains a position. Points and lines contain none.
  package func contains(_ position: Coordinate) -> Bool {
    switch self {
    case .polygon(let polygon): polygon.contains(position)
    case .multiPolygon(let polygons): polygons.contains { $0.contains(position) }
    default: false
    }
  }

  /// Returns the metres from a position to the nearest point of the shape: 0 within an area, infinite without
  /// positions.
  package func distance(to position: Coordinate) -> Double {
    switch self {
    case .point(let point): point.distance(to: position)
    case .multiPoint(let points): points.reduce(.infinity) { min($0, $1.distance(to: position)) }
    case .lineString(let line): Geodesy.distance(from: position, toLine: line)
    case .multiLineString(let lines):
      lines.reduce(.infinity) { min($0, Geodesy.distance(from: position, toLine: $1)) }
    case .polygon(let polygon): polygon.distance(to: position)
    case .multiPolygon(let polygons):
      polygons.reduce(.infinity) { min($0, $1.distance(to: position)) }
    }
  }
}

extension Geometry {
  /// Creates one shape of the parts of several. If they have different extents, only areas count, or else only lines.
  /// Returns `nil` without parts.
  init?(joining shapes: [Geometry]) {
    if shapes.count == 1 {
      self = shapes[0]
      return
    }
    var points: [Coordinate] = []
    var lines: [[Coordinate]] = []
    var areas: [GeoPolygon] = []
    for shape in shapes {
      switch shape {
      case .point(let point): points.append(point)
      case .multiPoint(let all): points += all
      case .lineString(let line): lines.append(line)
      case .multiLineString(let all): lines += all
      case .polygon(let area): areas.append(area)
      case .multiPolygon(let all): areas += all
      }
    }
    if let area = areas.first {
      self = areas.count == 1 ? .polygon(area) : .multiPolygon(areas)
    } else if let line = lines.first {
      self = lines.count == 1 ? .lineString(line) : .multiLineString(lines)
    } else if let point = points.first {
      self = points.count == 1 ? .point(point) : .multiPoint(points)
    } else {
      return nil
    }
  }

  /// The lines of a line or of several, none for other shapes.
  var lines: [[Coordinate]] {
    switch self {
    case .lineString(let line): [line]
    case .multiLineString(let lines): lines
    default: []
    }
  }
}
