import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile locate`: finds the tile that contains a place.
struct TileLocateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "locate",
    abstract: "Prints the tile that a place is in.",
    discussion: "Example:  bothy tile locate --lat 47.6 --lon -122.33 --zoom 16")

  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try Tile(containing: place.coordinate, zoom: place.zoom).print(output)
  }
}

/// `bothy tile quadkey`: finds the tile of a quadkey.
struct TileQuadkeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quadkey",
    abstract: "Prints the tile that a quadkey names.",
    discussion: "Example:  bothy tile quadkey 0212300302202012")

  @Argument(help: "Digits from 0 to 3, one a zoom; empty for zoom 0.") var key: String
  @OptionGroup var output: OutputOptions

  func run() async throws { try Tile(quadkey: key).print(output) }
}

/// `bothy tile bounds`: prints the edges of a tile.
struct TileBoundsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bounds",
    abstract: "Prints the edges of a tile: west, south, east, north.",
    discussion: "Example:  bothy tile bounds 16 10498 22889")

  @Argument(help: "The zoom, 0 to 29.") var zoom: Int
  @Argument(help: "The column, from 180° west.") var x: Int
  @Argument(help: "The row, from the north.") var y: Int
  @OptionGroup var output: OutputOptions

  func run() async throws { try Tile(x: x, y: y, zoom: zoom).print(output) }
}

/// A place and a zoom.
struct PlaceOptions: ParsableArguments {
  @OptionGroup var position: PositionOptions
  @Option(parsing: .unconditional, help: "The zoom, 0 to 29.") var zoom = 16

  var coordinate: Coordinate { position.coordinate }
}

extension Tile {
  /// Prints the tile as a result of a command.
  func print(_ output: OutputOptions) throws {
    try output.print {
      let box = bounds
      return
        "\(self)  quadkey \(quadkey)  west \(box.west)  south \(box.south)  east \(box.east)  north \(box.north)"
    } json: { writer in
      write(to: &writer, withBounds: true)
    }
  }

  func write(to writer: inout JSONWriter, withBounds: Bool) {
    writer.member("x", x)
    writer.member("y", y)
    writer.member("zoom", zoom)
    writer.member("quadkey", quadkey)
    guard withBounds else { return }
    writer.key("bounds")
    writer.beginArray()
    for edge in [bounds.west, bounds.south, bounds.east, bounds.north] { writer.value(edge) }
    writer.endArray()
  }
}
