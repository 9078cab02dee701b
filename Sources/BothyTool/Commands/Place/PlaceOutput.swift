import BothyGeo
import BothyStore

/// Features in results: members of JSON, rows of a table.
extension TileFeature {
  func write(to writer: inout JSONWriter, language: String? = nil) {
    writer.member("layer", layer.rawValue)
    writer.member("id", key.id)
    writer.member("type", type)
    writer.member("value", value)
    writer.member("name", language.map { name(in: $0) } ?? name)
    writer.member("nameTag", nameTag)
    writer.member("category", category.rawValue)
    writer.member("lat", center.latitude)
    writer.member("lon", center.longitude)
  }

  /// Returns the text that identifies the feature for people.
  func title(_ language: String? = nil) -> String {
    let own = language.map { name(in: $0) } ?? name
    return own ?? nameTag ?? "\(type) \(value)"
  }
}

extension NearbyPlace {
  func write(to writer: inout JSONWriter, language: String?) {
    feature.write(to: &writer, language: language)
    writer.member("distance", (distance * 10).rounded() / 10)
    if let entrance {
      writer.object("entrance") { writer in
        writer.member("lat", entrance.latitude)
        writer.member("lon", entrance.longitude)
      }
    }
  }
}

/// Prints lists of places.
enum PlaceList {
  static func print(_ places: [NearbyPlace], _ language: String?, _ output: OutputOptions) throws {
    try output.print {
      var table = TextTable(["metres", "name", "category", "layer", "id"])
      for place in places {
        let feature = place.feature
        table.add([
          String(Int(place.distance.rounded())), feature.title(language), feature.category.rawValue,
          feature.layer.rawValue, feature.key.id,
        ])
      }
      return table.text(empty: "No places.")
    } json: { writer in
      writer.list("places", places) { $1.write(to: &$0, language: language) }
    }
  }

  static func print(_ features: [TileFeature], _ language: String?, _ output: OutputOptions) throws {
    try output.print {
      table(features, language).text(empty: "No places.")
    } json: { writer in
      writer.list("places", features) { $1.write(to: &$0, language: language) }
    }
  }

  static func table(_ features: [TileFeature], _ language: String?) -> TextTable {
    var table = TextTable(["name", "category", "layer", "id", "lat", "lon"])
    for feature in features {
      table.add([
        feature.title(language), feature.category.rawValue, feature.layer.rawValue, feature.key.id,
        "\(feature.center.latitude)", "\(feature.center.longitude)",
      ])
    }
    return table
  }
}
