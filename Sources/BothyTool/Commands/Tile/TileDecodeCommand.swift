import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile decode`: prints the contents of a vector tile as GeoJSON.
struct TileDecodeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decode",
    abstract: "Prints all that a vector tile holds, as GeoJSON.",
    discussion: """
      Each feature has its id, its properties and, beside the members of GeoJSON,
      the layer it is of. "layers" has the versions and extents of the layers.

      Positions are in degrees when the tile is known: by the file's name, such as
      14/5041/10944.mvt, or by --tile. With --grid, or when it isn't known, they are
      the numbers of the tile's own grid: x to the east, y to the south.

      "problems", and standard error, have the features that could not be read. A
      tile that is cut off or damaged is refused.

      Example:  bothy tile decode 14_5041_10944.mvt
                bothy tile decode hills.pmtiles --tile 14/5041/10944
                curl -s https://tiles.example.org/14/5041/10944.mvt |
                  bothy tile decode - --tile 14/5041/10944
      """)

  @OptionGroup var source: TileFile
  @Flag(help: "Print positions of the tile's grid.") var grid = false

  func run() async throws {
    let tile = try VectorTile(decoding: try await source.content())
    for problem in tile.problems { StandardStreams.note("\(problem)") }
    try StandardStreams.write(tile.geoJSON(in: grid ? nil : source.place()) + [UInt8(ascii: "\n")])
  }
}
