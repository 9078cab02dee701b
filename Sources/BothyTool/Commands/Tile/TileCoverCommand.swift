import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile cover`: lists the tiles around a place, or those of a box.
struct TileCoverCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cover",
    abstract: "Prints the tiles that hold everything within a distance of a place, or a box.",
    discussion: """
      Row by row from the north. A box extends east from its west, so one whose west
      is greater than its east crosses the antimeridian.

      Example:  bothy tile cover --lat 47.6 --lon -122.33 --radius 500 --zoom 16
                bothy tile cover --box -105,39.99,-104.99,40 --zoom 14 --count
      """)

  @OptionGroup var position: OptionalPositionOptions
  @Option(parsing: .unconditional, help: ArgumentHelp("The distance.", valueName: "metres"))
  var radius: Double?
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("A box instead of a place: west,south,east,north.", valueName: "degrees"))
  var box: String?
  @Option(parsing: .unconditional, help: "The zoom, 0 to 29.") var zoom = 16
  @Option(help: ArgumentHelp("How many tiles may be listed.", valueName: "n")) var limit = TileGrid
    .defaultLimit
  @Flag(help: "Print how many tiles there are instead of listing them.") var count = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    let place = [position.latitude, position.longitude, radius]
    guard place.allSatisfy({ $0 == nil }) != (box == nil) else {
      throw ValidationError("Give --lat, --lon and --radius, or --box.")
    }
    guard box != nil || place.allSatisfy({ $0 != nil }) else {
      throw ValidationError("A place needs all of --lat, --lon and --radius.")
    }
  }

  func run() async throws {
    let grid = try grid()
    if count {
      return try output.print {
        "\(grid.count)"
      } json: {
        $0.member("count", grid.count)
      }
    }
    let tiles = try grid.tiles(limit: limit)
    try output.print {
      tiles.map { "\($0)  \($0.quadkey)" }.joined(separator: "\n")
    } json: { writer in
      writer.list("tiles", tiles) { $1.write(to: &$0, withBounds: false) }
    }
  }

  private func grid() throws -> TileGrid {
    if let box { return try TileGrid(covering: Self.box(box), zoom: zoom) }
    let place = position.coordinate ?? Coordinate(latitude: .nan, longitude: .nan)
    return try TileGrid(around: place, radius: radius ?? .nan, zoom: zoom)
  }

  static func box(_ text: String) throws -> GeoBox {
    let edges = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    guard edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2],
      let north = edges[3]
    else {
      throw ToolError("'\(text)' isn't a box. Write west,south,east,north in degrees: -105,39.99,-104.99,40.")
    }
    return try GeoBox(west: west, south: south, east: east, north: north).checked()
  }
}
