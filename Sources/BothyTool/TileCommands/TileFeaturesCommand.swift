import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile features`: prints the decoded features of a GeoJSON tile.
struct TileFeaturesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "features",
    abstract: "Prints what a tile in GeoJSON holds: places, roads, paths, intersections, entrances.",
    discussion: """
      What has no name is left out unless --unnamed is given; what could not be read
      is told of under "problems", and on standard error.

      Example:  bothy tile features 16_18109_23965.json --categories categories.json
      """)

  @Argument(help: "The file, or - for standard input.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp("A category table in JSON, in place of the common one.", valueName: "file"),
    completion: .file())
  var categories: String?
  @Flag(help: "Print also what has no name.") var unnamed = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let table = try categories.map { try CategoryTable(json: StandardStreams.read($0)) } ?? .common
    let tile = try GeoJSONTile(decoding: StandardStreams.read(file), categories: table)
    let features = tile.features.filter { unnamed || $0.isNamed }
    if !output.json {
      for problem in tile.problems { StandardStreams.note("\(problem)") }
    }
    try output.print {
      Self.text(features)
    } json: { writer in
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
