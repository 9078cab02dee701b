public import BothyStore
public import Foundation

/// The area of a region. Every tile with a part in it belongs to the region.
///
/// ```swift
/// let document = try Data(contentsOf: folder.appending(path: "park.geojson"))
/// let park = try RegionArea(geoJSON: document)
/// let plan = OfflineRegions.Plan(name: "Park", source: "trails", area: park, zooms: try ZoomRange(0, 15))
/// ```
public enum RegionArea: Sendable, Hashable {
  /// A box in degrees. If its west is greater than its east, it crosses the antimeridian. Counting its tiles has a
  /// fixed cost.
  case box(GeoBox)
  /// The union of several polygons, which don't overlap. Where two overlap, the area has a hole.
  case polygons([GeoPolygon])

  /// The smallest box around the area.
  package var bounds: GeoBox {
    switch self {
    case .box(let box): box
    case .polygons(let polygons): GeoBox(around: polygons.flatMap(\.exterior)) ?? .world
    }
  }

  /// Reads the polygons of a GeoJSON document, which is a geometry, a feature, or a collection of either. Ignores
  /// points and lines.
  ///
  /// Parses the whole document on the calling thread. Tiles within a hole don't belong to the area.
  ///
  /// - Throws: `BothyError` `invalidRegion` for other documents, or if the document has no polygons.
  public init(geoJSON source: Data) throws(BothyError) {
    let polygons: [GeoPolygon]
    do { polygons = try Self.areas(JSONValue(parsing: source)) } catch {
      let reason = (error as? BrokenFeature).map { "\($0.reason)." } ?? "\(error)"
      throw BothyError(.invalidRegion, "The document isn't a GeoJSON area: \(reason)", underlying: error)
    }
    guard !polygons.isEmpty else {
      throw BothyError(.invalidRegion, "The document has no area. Give a Polygon or MultiPolygon of GeoJSON.")
    }
    self = .polygons(polygons)
  }

  private static func areas(_ json: JSONValue) throws -> [GeoPolygon] {
    switch json["type"]?.stringValue {
    case "FeatureCollection": return try (json["features"]?.arrayValue ?? []).flatMap(areas)
    case "GeometryCollection": return try (json["geometries"]?.arrayValue ?? []).flatMap(areas)
    case "Feature":
      guard let geometry = json["geometry"], !geometry.isNull else { return [] }
      return try areas(geometry)
    case "Polygon", "MultiPolygon":
      switch try JSONReader.read(Data(json.canonicalText.utf8), GeometryReader.read) {
      case .polygon(let polygon): return [polygon]
      case .multiPolygon(let polygons): return polygons
      default: return []
      }
    default: return []
    }
  }
}

extension RegionArea {
  /// The stored form: a GeoJSON geometry, or a box.
  var json: JSONValue {
    switch self {
    case .box(let box):
      return .object(["bbox": .array([box.west, box.south, box.east, box.north].map { .double($0) })])
    case .polygons(let polygons):
      let coordinates = polygons.map { polygon in
        JSONValue.array(
          polygon.rings.map { ring in
            .array(ring.map { .array([.double($0.longitude), .double($0.latitude)]) })
          })
      }
      return .object(["type": .string("MultiPolygon"), "coordinates": .array(coordinates)])
    }
  }

  init(kept text: String) throws {
    let json = try JSONValue(parsing: Data(text.utf8))
    if let edges = json["bbox"]?.arrayValue?.compactMap(\.doubleValue), edges.count == 4 {
      self = .box(GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]))
    } else {
      self = .polygons(try Self.areas(json))
    }
  }
}
