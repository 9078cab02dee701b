import BothyGeo
import BothyStore
import Foundation
import Testing

@Suite("GeoJSON with any properties", .timeLimit(.minutes(5)))
struct PlainGeoJSONTests {
  private func feature(
    _ properties: String, id: String? = nil, _ geometry: String = #"{"type": "Point", "coordinates": [1, 2]}"#
  ) -> String {
    let id = id.map { #""id": \#($0), "# } ?? ""
    return #"{"type": "Feature", \#(id)"properties": \#(properties), "geometry": \#(geometry)}"#
  }

  private func decode(_ features: String...) throws -> [TileFeature] {
    try GeoJSONTile(decoding: TileDocument.tile(features.joined(separator: ", "))).features
  }

  /// Promises: T-49
  @Test("The first of OpenStreetMap's main keys is the type, else a class field")
  func types() throws {
    let found = try decode(
      feature(#"{"name": "A", "building": "yes", "amenity": "cafe"}"#),
      feature(#"{"Title": "B", "class": "museum"}"#), feature(#"{"kind": "bar"}"#), feature("{}"),
      feature("null"),
      feature(
        #"{"highway": "footway", "surface": "gravel"}"#,
        #"{"type": "LineString", "coordinates": [[1, 2], [2, 2]]}"#))
    #expect(
      found.map { "\($0.type)=\($0.value)" } == [
        "amenity=cafe", "tourism=museum", "amenity=bar", "=", "highway=footway",
      ])
    #expect(found.map(\.name) == ["A", "B", nil, nil, nil])
    #expect(found.map(\.category) == [.place, .landmark, .place, .undefined, .undefined])
    #expect(found.map(\.layer) == [.poi, .poi, .poi, .poi, .path])
  }

  @Test(
    "Ids are those of OpenStreetMap elements, or numbers, or computed",
    arguments: [
      (#""node/5""#, "{}", 5), (#""way/5""#, "{}", -5), (#""relation/5""#, "{}", -100_000_000_000_000_005),
      ("17", "{}", 17), (#""17""#, "{}", 17), (nil, #"{"@id": "way/9", "id": 3}"#, -9),
      (nil, #"{"osm_id": 4}"#, 4),
    ] as [(String?, String, Int64)])
  func ids(id: String?, properties: String, expected: Int64) throws {
    #expect(try decode(feature(properties, id: id)).map(\.ids) == [[expected]])
  }

  @Test("A computed id is the same each time, and another for another feature")
  func computedIDs() throws {
    let one = #"{"amenity": "cafe", "name": "A"}"#
    let elsewhere = #"{"type": "Point", "coordinates": [1, 3]}"#
    let first = try decode(
      feature(one), feature(#"{"amenity": "bar", "name": "A"}"#), feature(one, elsewhere))
    #expect(Set(first.flatMap(\.ids)).count == 3 && first.allSatisfy { $0.ids[0] >= 1 << 62 })
    #expect(try decode(feature(one)) == [first[0]])
  }

  @Test("One feature, one geometry and collections of geometries are read")
  func roots() throws {
    let line = #"{"type": "LineString", "coordinates": [[1, 2], [3, 4]]}"#
    let area = #"{"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]}"#
    let both = #"{"type": "GeometryCollection", "geometries": [\#(line), \#(area)]}"#
    #expect(try GeoJSONTile(decoding: feature(#"{"amenity": "cafe"}"#)).features.map(\.value) == ["cafe"])
    #expect(try GeoJSONTile(decoding: line).features.map(\.geometry.extent) == [.line])
    #expect(try GeoJSONTile(decoding: both).features.map(\.geometry.extent) == [.area])
    #expect(try decode(feature("{}", both)).map(\.geometry.extent) == [.area])
    let nowhere = try GeoJSONTile(decoding: feature("{}", "null"))
    #expect(nowhere.features.isEmpty && nowhere.problems.map(\.index) == [0])
    for text in [#"{"type": "Feature"}"#, #"{"type": "Point"}"#, #"{"type": "Topology", "features": []}"#] {
      #expect(throws: BothyError.self) { try GeoJSONTile(decoding: text) }
    }
  }

  @Test("Plain roads have intersections, and a server for pedestrians sends its own")
  func intersections() throws {
    let west = #"{"type": "LineString", "coordinates": [[0, 0], [1, 0], [2, 0]]}"#
    let south = #"{"type": "LineString", "coordinates": [[1, 1], [1, 0]]}"#
    let street = #"{"highway": "residential"}"#
    let found = try decode(feature(street, id: "1", west), feature(street, id: "2", south))
    #expect(found.map(\.layer) == [.road, .road, .intersection] && found[2].roads == [1, 2])
    let others = try decode(
      TileDocument.feature("highway", "residential", ids: "[1]", geometry: west),
      TileDocument.feature("highway", "residential", ids: "[2]", geometry: south))
    #expect(others.map(\.layer) == [.road, .road])
  }

  @Test("A feature may have thousands of properties, in any order")
  func manyProperties() throws {
    let names = (0..<20_000).map { #""k\#(20_000 - $0)": "v""# }.joined(separator: ", ")
    #expect(try decode(feature("{\(names)}")).map(\.tags.count) == [20_000])
  }
}
