import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile features`: prints the places, roads and paths of a tile.
struct TileFeaturesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "features",
    abstract: "Prints what a tile holds: places, roads, paths, intersections, entrances.",
    discussion: """
      A tile is GeoJSON or a vector tile. A vector tile has to be known by its name,
      such as 14/5041/10944.mvt, or by --tile. The meaning of its layers and fields
      is known for OpenMapTiles, Shortbread, Protomaps and Soundscape; --schema says
      it for others.

      Features without a name are left out unless --unnamed is given. "problems", and
      standard error, have those that could not be read.

      Example:  bothy tile features 16_18109_23965.json --categories categories.json
                bothy tile features oslo.pmtiles --tile 14/8681/4767
      """)

  @OptionGroup var source: TileFile
  @OptionGroup var schema: SchemaOption
  @Option(
    help: ArgumentHelp("A category table in JSON, in place of the common one.", valueName: "file"),
    completion: .file())
  var categories: String?
  @Flag(help: "Print also what has no name.") var unnamed = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let table = try categories.map { try CategoryTable(json: StandardStreams.read($0)) } ?? .common
    let content = try await source.content()
    var place = try source.place()
    // GeoJSON has its positions itself, and an empty tile has none.
    if place == nil, try content.isEmpty || TileFormat(of: content) == .json {
      place = try Tile(x: 0, y: 0, zoom: 0)
    }
    guard let place else {
      throw ToolError("A vector tile has no position of its own. Say which it is with --tile 16/18109/23965.")
    }
    let tile = try AnyTileDecoder(schema: schema.read()).decode(content, of: place, categories: table)
    let features = tile.features.filter { unnamed || $0.isNamed }
    if !output.json {
      for problem in tile.problems { StandardStreams.note("\(problem)") }
    }
    try output.print {
      Self.text(features)
    } json: { writer in
      writer.member("format", tile.format)
      writer.list("features", features) { $1.write(to: &$0) }
      writer.list("problems", tile.problems) { writer, problem in
        writer.member("index", problem.index)
        writer.member("reason", problem.reason)
      }
    }
  }

  private static func text(_ features: [TileFeature]) -> String {
    var table = TextTable(["layer", "name", "category", "id"])
    for feature in features {
      table.add([feature.layer.rawValue, feature.title(), feature.category.rawValue, feature.key.id])
    }
    return table.text(empty: "No features.")
  }
}
