import BothyGeo

/// The colours of a map, and their legend. They differ in lightness, for people who distinguish few colours.
enum MapLegend {
  struct Style {
    var color: String
    /// The radius of a point, or the width of a line.
    var size: Double
  }

  static func color(_ state: MapDrawing.TileState) -> String {
    switch state {
    case .fresh: "#1b7837"
    case .stale: "#e08214"
    case .missing: "#b2182b"
    }
  }

  static func style(_ feature: TileFeature) -> Style {
    switch feature.layer {
    case .road: Style(color: "#6b6b6b", size: 2.5)
    case .path: Style(color: "#a08a5b", size: 1.2)
    case .intersection: Style(color: "#404040", size: 1.8)
    case .entranceList: Style(color: "#000000", size: 1.2)
    case .poi: Style(color: color(feature.category), size: 3)
    }
  }

  private static func color(_ category: PlaceCategory) -> String {
    switch category {
    case .safety: "#d73027"
    case .mobility: "#4575b4"
    case .landmark: "#762a83"
    case .place: "#01665e"
    case .object: "#8c510a"
    case .information: "#2c7fb8"
    case .beacon: "#c51b7d"
    case .entrance: "#000000"
    case .undefined: "#9e9e9e"
    }
  }

  private static let lineHeight = 16.0
  /// The height of a legend with all possible rows.
  static let height =
    lineHeight * Double(MapDrawing.TileState.allCases.count + 3 + PlaceCategory.allCases.count + 3)

  /// Returns the rows of the legend for the contents of the picture.
  static func lines(
    x: Double, features: [TileFeature], tiles: [MapDrawing.TileState: Int]
  ) -> [String] {
    var rows: [(color: String, text: String)] = []
    for state in MapDrawing.TileState.allCases {
      if let count = tiles[state] { rows.append((color(state), "\(state.rawValue) tile (\(count))")) }
    }
    let layers = Dictionary(grouping: features, by: \.layer)
    for layer in [TileFeature.Layer.road, .path, .intersection, .entranceList] {
      guard let found = layers[layer], let first = found.first else { continue }
      let name = layer == .entranceList ? "entrances" : layer.rawValue
      rows.append((style(first).color, "\(name) (\(found.count))"))
    }
    let categories = Dictionary(grouping: layers[.poi] ?? [], by: \.category)
    for category in PlaceCategory.allCases {
      guard let found = categories[category] else { continue }
      rows.append((color(category), "\(category.rawValue) (\(found.count))"))
    }
    return rows.enumerated().map { index, row in
      let y = 8 + lineHeight * Double(index)
      return SVG.rectangle(x, y, 10, 10, fill: row.color)
        + SVG.text(x + 16, y + 9, size: 11, row.text, extra: " class=\"legend\"")
    }
  }
}
