import ArgumentParser
import BothyGeo
import BothyStore
import Foundation

/// The file of places of a command.
struct PlacesFile: ParsableArguments {
  @Argument(help: "The file of places.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp("A category table in JSON, in place of the common one.", valueName: "file"),
    completion: .file())
  var categories: String?
  @OptionGroup var schema: SchemaOption

  /// Opens the file, runs `body` and closes it. If `makes` is true, a missing file is created.
  func withPlaces<Result>(makes: Bool = false, _ body: (PlaceStore) async throws -> Result) async throws
    -> Result
  {
    guard makes || FileManager.default.fileExists(atPath: file) else {
      throw ToolError("The file of places \(file) does not exist. Make it with `bothy places load`.")
    }
    try Self.refuseOthers(file)
    let table = try categories.map { try CategoryTable(json: StandardStreams.read($0)) } ?? .common
    let places = try PlaceStore(path: file, categories: table, schema: schema.read())
    for repair in places.repairs { StandardStreams.note("bothy: \(repair)") }
    return try await Opened.use(places, body, close: { try $0.close() })
  }

  /// Throws for a file without SQLite's mark, which a store takes for a damaged one and replaces.
  static func refuseOthers(_ path: String) throws {
    // A missing file may be made, and opening a folder has an error of its own.
    guard let file = FileHandle(forReadingAtPath: path), let mark = try? file.read(upToCount: 16) else {
      return
    }
    try file.close()
    guard mark.isEmpty || mark == Data("SQLite format 3\0".utf8) else {
      throw ToolError("\(path) is not a file of places. Choose another path; the file was left as it is.")
    }
  }
}

/// The features of a command.
struct PlaceFilterOptions: ParsableArguments {
  @Option(
    name: .customLong("category"),
    help: ArgumentHelp(
      "Only of these categories: \(PlaceCategory.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "name"))
  var categories: [String] = []
  @Option(
    name: .customLong("layer"),
    help: ArgumentHelp(
      "What to look for: \(TileFeature.Layer.allCases.map(\.rawValue).joined(separator: ", ")). poi by default.",
      valueName: "name"))
  var layers: [String] = []
  @Flag(help: "Also what has no name.") var unnamed = false

  func filter() throws -> PlaceFilter {
    let categories = try categories.map { name in
      guard let category = PlaceCategory(rawValue: name) else {
        throw ValidationError("The category '\(name)' does not exist. See --help for those there are.")
      }
      return category
    }
    let layers = try layers.map { name in
      guard let layer = TileFeature.Layer(rawValue: name) else {
        throw ValidationError("The layer '\(name)' does not exist. See --help for those there are.")
      }
      return layer
    }
    return PlaceFilter(
      layers: layers.isEmpty ? [.poi] : Set(layers), categories: categories.isEmpty ? nil : Set(categories),
      includesUnnamed: unnamed)
  }
}

/// An area, given by a place and a radius, or by a box.
struct AreaOptions: ParsableArguments {
  @OptionGroup var position: OptionalPositionOptions
  @Option(
    parsing: .unconditional, help: ArgumentHelp("The distance; 500 by default.", valueName: "metres"))
  var radius: Double?
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A box instead of a place: west,south,east,north.", valueName: "degrees"))
  var box: String?

  var isGiven: Bool { box != nil || position.isGiven }

  func validate() throws {
    guard box == nil || (!position.isGiven && radius == nil) else {
      throw ValidationError("Give --lat and --lon, or --box.")
    }
    guard !position.isHalf, radius == nil || position.isGiven else {
      throw ValidationError("A place needs both --lat and --lon.")
    }
  }

  func bounds() throws -> GeoBox {
    if let box { return try TileCoverCommand.box(box) }
    guard let center = position.coordinate else { throw ValidationError("Give --lat and --lon, or --box.") }
    return try GeoBox(around: center, radius: radius ?? 500)
  }

  /// Returns the tiles of the area, first the one in its middle.
  func tiles(zoom: Int, limit: Int) throws -> [Tile] {
    let grid: TileGrid
    if let center = position.coordinate {
      grid = try TileGrid(around: center, radius: radius ?? 500, zoom: zoom)
      return try grid.tiles(nearestTo: center, limit: limit)
    }
    return try TileGrid(covering: bounds(), zoom: zoom).tiles(limit: limit)
  }
}
