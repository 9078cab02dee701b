public import BothyStore

/// Where a feature is and what shape it has (RFC 7946, without collections).
public enum Geometry: Hashable, Sendable {
  /// One position.
  case point(Coordinate)
  /// Several positions, in no order.
  case multiPoint([Coordinate])
  /// A line through positions.
  case lineString([Coordinate])
  /// Several lines.
  case multiLineString([[Coordinate]])
  /// An area, with or without holes.
  case polygon(GeoPolygon)
  /// Several areas.
  case multiPolygon([GeoPolygon])

  /// What kind of extent a shape has.
  public enum Extent: String, Sendable, Hashable, CaseIterable {
    /// One position or several.
    case point
    /// One line or several.
    case line
    /// One area or several.
    case area
  }

  /// Which of the three it is, however many parts it has.
  public var extent: Extent {
    switch self {
    case .point, .multiPoint: .point
    case .lineString, .multiLineString: .line
    case .polygon, .multiPolygon: .area
    }
  }

  /// The positions one after the other, of polygons those of the outer rings.
  public var outline: [Coordinate] {
    switch self {
    case .point(let position): [position]
    case .multiPoint(let positions), .lineString(let positions): positions
    case .multiLineString(let lines): lines.flatMap { $0 }
    case .polygon(let polygon): polygon.exterior
    case .multiPolygon(let polygons): polygons.flatMap(\.exterior)
    }
  }

  /// The smallest box around it, by the shorter way around the world; nil without positions.
  public var bounds: GeoBox? { GeoBox(around: outline) }

  /// The middle of the box around it; nil without positions.
  public var center: Coordinate? {
    if case .point(let position) = self { return position }
    return bounds?.center
  }

  /// Whether a position is in the area; never for points and lines.
  public func contains(_ position: Coordinate) -> Bool {
    switch self {
    case .polygon(let polygon): polygon.contains(position)
    case .multiPolygon(let polygons): polygons.contains { $0.contains(position) }
    default: false
    }
  }

  /// The metres from a position to the nearest point of the shape; 0 within an area, infinite without positions.
  public func distance(to position: Coordinate) -> Double {
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
