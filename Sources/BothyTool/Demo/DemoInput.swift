import BothyStore
import Foundation

/// The places of the demo.
struct DemoInput: Sendable {
  var features: [JSONValue]
  /// The origin of the places, for people.
  var source: String

  static let fixture = "../shared/fixtures/soundscape-tiles/16_18109_23965.json"

  /// Returns the features of `path`, of the project's fixture if it exists, or generated ones.
  static func load(_ path: String?) throws -> DemoInput {
    guard let path = path ?? (FileManager.default.fileExists(atPath: fixture) ? fixture : nil) else {
      return DemoInput(features: made(), source: "made for the demo")
    }
    let features = try FeatureReader.features(of: StandardStreams.read(path))
    guard features.count >= 8 else {
      throw ToolError(
        "\(path) has \(features.count) features; the demo needs 8 or more. Choose a larger file.")
    }
    return DemoInput(features: features, source: path)
  }

  /// Generates 600 places on a grid, equal each time.
  private static func made() -> [JSONValue] {
    let kinds: [(String, String)] = [
      ("amenity", "cafe"), ("amenity", "bench"), ("highway", "crossing"), ("tourism", "wilderness_hut"),
      ("shop", "bakery"), ("natural", "spring"),
    ]
    return (0..<600).map { number in
      let (type, value) = kinds[number % kinds.count]
      let longitude = 10.70 + Double(number % 30) * 0.001
      let latitude = 59.90 + Double(number / 30) * 0.001
      return [
        "type": "Feature", "id": .int(Int64(100_000 + number)), "feature_type": .string(type),
        "feature_value": .string(value), "properties": ["name": .string("\(value) \(number)")],
        "geometry": ["type": "Point", "coordinates": [.double(longitude), .double(latitude)]],
      ]
    }
  }

  /// The type of a place. The later edit of a name wins, notes of both sides are kept, and visits are added.
  static let schema = StoreSchema(types: [
    TypeSchema(
      "Place",
      fields: [
        FieldSchema("name", .text, optional: true, indexed: true, merge: .latest),
        FieldSchema("feature_type", .text, optional: true, indexed: true),
        FieldSchema("feature_value", .text, optional: true),
        FieldSchema("location", .coordinate, optional: true),
        FieldSchema("geometry", .json, optional: true),
        FieldSchema("properties", .json, optional: true),
        FieldSchema("osm_ids", .json, optional: true),
        FieldSchema("note", .text, optional: true, merge: .keepBoth),
        FieldSchema("visits", .int, default: 0, merge: .counter),
      ])
  ])
}
