import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy places search`: finds places by name.
struct PlacesSearchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Prints what has all words of a text in its names, in any language.",
    discussion: """
      Case and the marks on letters do not matter, and each word may be the beginning
      of a longer one: `cafe` finds Café Ole. The best first; with --lat and --lon
      the nearest first. Without --layer it looks among places, roads and paths.

      Example:  bothy places search oslo.places "cafe"
                bothy places search oslo.places munch --language en --json
      """)

  @OptionGroup var places: PlacesFile
  @Argument(help: "The words.") var text: String
  @Option(help: ArgumentHelp("The most to print.", valueName: "n")) var limit = 20
  @OptionGroup var position: OptionalPositionOptions
  @Option(help: ArgumentHelp("Print names in a language such as fr, where there are any.", valueName: "code"))
  var language: String?
  @OptionGroup var filter: PlaceFilterOptions
  @OptionGroup var output: OutputOptions

  /// The number of matches to read when the nearest are requested, as a search orders names by match and not by
  /// distance.
  private static let searched = 1000

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is a whole number above 0.") }
    guard !position.isHalf else {
      throw ValidationError("A place needs both --lat and --lon.")
    }
    _ = try filter.filter()
  }

  func run() async throws {
    var filter = try filter.filter()
    if self.filter.layers.isEmpty { filter.layers = [.poi, .road, .path] }
    let place = position.coordinate
    if let place { _ = try Tile(containing: place, zoom: 0) }  // throws for an invalid place
    let found = try await places.withPlaces {
      try $0.search(text, limit: place == nil ? limit : Self.searched, filter)
    }
    guard let place else { return try PlaceList.print(found, language, output) }
    let measured = found.map { (feature: $0, distance: $0.geometry.distance(to: place)) }
      .sorted { ($0.distance, $0.feature.key) < ($1.distance, $1.feature.key) }
    try PlaceList.print(measured.prefix(limit).map(\.feature), language, output)
  }
}

/// `bothy places road`: lists the intersections of a road.
struct PlacesRoadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "road",
    abstract: "Prints the crossings of a road or path, by its OpenStreetMap id or its name.",
    discussion: """
      A name means all roads and paths that have it, as a street is drawn in
      many pieces. Each crossing names the other roads that meet there.

      Example:  bothy places road oslo.places -4356572
                bothy places road oslo.places "Karl Johans gate" \\
                  --box 10.73,59.90,10.75,59.92
      """)

  @OptionGroup var places: PlacesFile
  @Argument(parsing: .allUnrecognized, help: "The road's id, or its name.") var road: [String] = []
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Only crossings in a box: west,south,east,north.", valueName: "degrees"))
  var box: String?
  @OptionGroup var output: OutputOptions

  private struct Crossing {
    var feature: TileFeature
    var others: [String]
  }

  func validate() throws {
    guard road.count == 1, !(road[0].hasPrefix("-") && Int64(road[0]) == nil) else {
      throw ValidationError("Give one road, by its id or its name.")
    }
  }

  func run() async throws {
    let box = try box.map { try TileCoverCommand.box($0) }
    let (roads, crossings) = try await places.withPlaces { places in
      let roads = try findRoads(places)
      return (roads, try findCrossings(of: roads, in: box, places))
    }
    try output.print {
      var table = TextTable(["meets", "lat", "lon"])
      for crossing in crossings {
        let center = crossing.feature.center
        table.add([crossing.others.joined(separator: ", "), "\(center.latitude)", "\(center.longitude)"])
      }
      return table.text(empty: "No crossings.")
    } json: { writer in
      writer.list("roads", roads) { $1.write(to: &$0) }
      writer.list("crossings", crossings) { writer, crossing in
        writer.member("id", crossing.feature.key.id)
        writer.member("lat", crossing.feature.center.latitude)
        writer.member("lon", crossing.feature.center.longitude)
        writer.array("roads", crossing.feature.roads) { $0.value($1) }
        writer.names("meets", crossing.others)
      }
    }
  }

  private func findRoads(_ places: PlaceStore) throws -> [TileFeature] {
    let text = road[0]
    if let id = Int64(text) {
      guard let found = try places.road(id) else {
        throw ToolError("The places have no road or path \(id). Load the tile it is in.")
      }
      return [found]
    }
    let filter = PlaceFilter(layers: [.road, .path])
    let found = try places.search(text, limit: 1000, filter)
    let exact = found.filter { $0.name?.lowercased() == text.lowercased() }
    guard !found.isEmpty else {
      throw ToolError("No road or path is called '\(text)'. Look with `bothy places search`.")
    }
    return exact.isEmpty ? found : exact
  }

  private func findCrossings(of roads: [TileFeature], in box: GeoBox?, _ places: PlaceStore) throws
    -> [Crossing]
  {
    let own = Set(roads.compactMap(\.ids.first))
    var found: [FeatureKey: TileFeature] = [:]
    for id in own {
      for feature in try places.intersections(ofRoad: id, in: box) { found[feature.key] = feature }
    }
    return try found.values.sorted { $0.key < $1.key }.map { feature in
      let others = try feature.roads.filter { !own.contains($0) }.map { id in
        try places.road(id)?.title() ?? "\(id)"
      }
      return Crossing(feature: feature, others: Set(others).sorted())
    }
  }
}

/// `bothy places get`: prints one feature with all of its data.
struct PlacesGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Prints all that is known of what has an OpenStreetMap id.",
    discussion: """
      One id may be a place and a road at once, so there may be several.

      Example:  bothy places get oslo.places -567118495
      """)

  @OptionGroup var places: PlacesFile
  @Argument(parsing: .allUnrecognized, help: "The id, as other commands print it.") var id: [String] = []
  @OptionGroup var output: OutputOptions

  private struct Found {
    var feature: TileFeature
    var tiles: [Tile]
    var entrances: [Int64]
  }

  func validate() throws {
    guard id.count == 1, !id[0].hasPrefix("--") else { throw ValidationError("Give one id.") }
  }

  func run() async throws {
    let found = try await places.withPlaces { places in
      try TileFeature.Layer.allCases.flatMap { layer in
        try places.features(FeatureKey(layer, id[0])).map { feature in
          Found(
            feature: feature, tiles: try places.tiles(of: feature.key),
            entrances: layer == .poi
              ? try feature.ids.first.map { try places.entrances(ofBuilding: $0).sorted() } ?? [] : [])
        }
      }
    }
    guard !found.isEmpty else {
      throw ToolError("There is nothing with the id \(id[0]) among the places. Load the tile it is in.")
    }
    try output.print {
      found.map(Self.text).joined(separator: "\n\n")
    } json: { writer in
      writer.list("places", found) { Self.write($1, to: &$0) }
    }
  }

  private static func write(_ found: Found, to writer: inout JSONWriter) {
    found.feature.write(to: &writer)
    writer.object("names") { writer in
      for (code, name) in found.feature.localizedNames.sorted(by: { $0.key < $1.key }) {
        writer.member(code, name)
      }
    }
    writer.object("tags") { writer in
      for (key, value) in found.feature.tags.sorted(by: { $0.0 < $1.0 }) { writer.member(key, value) }
    }
    writer.array("entrances", found.entrances) { $0.value($1) }
    writer.array("tiles", found.tiles) { $0.value("\($1)") }
  }

  private static func text(_ found: Found) -> String {
    let feature = found.feature
    var lines = ["\(feature.title())  (\(feature.layer.rawValue), \(feature.category.rawValue))"]
    lines.append("  at \(feature.center.latitude), \(feature.center.longitude)")
    lines += feature.tags.sorted { $0.0 < $1.0 }.map { "  \($0.0) = \($0.1)" }
    if !found.entrances.isEmpty {
      lines.append("  entrances: \(found.entrances.map(String.init).joined(separator: ", "))")
    }
    lines.append("  tiles: \(found.tiles.map { "\($0)" }.joined(separator: ", "))")
    return lines.joined(separator: "\n")
  }
}
