import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy places load`: loads tiles into a file of places.
struct PlacesLoadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Takes tiles into a file of places, from files, archives, or a source.",
    discussion: """
      Tiles are GeoJSON with any properties, or vector tiles of OpenMapTiles,
      Shortbread, Protomaps or Soundscape. Others need --schema, here and with every
      command that opens the file. Of an archive of vector tiles the highest zoom is
      taken, as lower ones repeat it with less.

      Files say by their names which tile they are: 16/18109/23965.json,
      16_18109_23965.json, or by quadkey 0302231230133303.json. One file may have its
      tile named with --tile. A folder means all tiles in it, an MBTiles or
      PMTiles archive for all it holds. A tile that is loaded again takes the place
      of what it held; the same bytes again cost next to nothing.

      With --source the tiles of an area come from a source of the cache's folder,
      or from one of a style there, such as outdoors/openmaptiles:
      those missing or older than --lifetime are requested, the others left alone.
      Places of a tile that the server says is gone are kept, and the tile counts as
      failed; --remove-gone removes them.

      Exit status 1 when a tile could not be loaded; what could be is kept.

      Example:  bothy places load oslo.places tiles/ more.mbtiles
                bothy places load oslo.places oslo.pmtiles
                bothy source add walks 'https://tiles.example.org/{z}/{x}/{y}.json' \\
                  --zooms 16-16
                bothy places load oslo.places --source walks --lat 59.91 \\
                  --lon 10.75 --radius 500
      """)

  @OptionGroup var places: PlacesFile
  @Argument(help: "Files, folders and archives of tiles.", completion: .file()) var inputs: [String] = []
  @Option(help: ArgumentHelp("The tile that the one file is.", valueName: "zoom/column/row"))
  var tile: String?
  @Option(help: ArgumentHelp("Load an area from a source of the cache.", valueName: "id")) var source: String?
  @OptionGroup var area: AreaOptions
  @Option(help: "The zoom of the source's tiles.") var zoom = 16
  @Option(help: ArgumentHelp("How many tiles an area may need.", valueName: "n")) var limit = 1000
  @Option(help: ArgumentHelp("Tiles younger than this are not requested again.", valueName: "time"))
  var lifetime = "7d"
  @Flag(help: "Let places go whose tiles the server says are gone.") var removeGone = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard inputs.isEmpty != (source == nil) else {
      throw ValidationError("Say what to load: files, or --source with an area.")
    }
    guard (source != nil) == area.isGiven else {
      throw ValidationError("--source needs an area, --lat and --lon or --box; files have theirs.")
    }
    guard tile == nil || inputs.count == 1 else { throw ValidationError("--tile needs one file.") }
    guard source != nil || !removeGone else { throw ValidationError("--remove-gone needs --source.") }
    guard CLIClock.offset("+" + lifetime) != nil else {
      throw ValidationError("--lifetime is a time such as 7d or 12h.")
    }
  }

  func run() async throws {
    let now = try CLIClock()
    let (intake, features) = try await places.withPlaces(makes: true) { places in
      var intake = TileImporter(places: places, clock: now, line: ProgressLine())
      defer { intake.line.clear() }
      if let source { try await load(source, &intake) } else { try await load(&intake) }
      return (intake, try places.counts())
    }
    try output.print {
      "\(intake.text)  The file has \(features.features) features of \(features.tiles) tiles."
    } json: { writer in
      intake.write(to: &writer)
      writer.member("tiles", features.tiles)
      writer.member("features", features.features)
    }
    for failure in intake.failures.dropFirst().prefix(20) { StandardStreams.note("bothy: \(failure)") }
    guard let first = intake.failures.first else { return }
    throw ToolError(
      intake.failures.count == 1 ? first : "\(intake.failures.count) tiles failed; first: \(first)")
  }

  private func load(_ intake: inout TileImporter) async throws {
    let named = try tile.map { text in
      guard let tile = Tile(filePath: text) else {
        throw ToolError("'\(text)' isn't a tile. Write 16/18109/23965.")
      }
      return tile
    }
    for input in inputs { try await intake.take(input, as: named) }
  }

  private func load(_ id: String, _ intake: inout TileImporter) async throws {
    let tiles = try area.tiles(zoom: zoom, limit: limit)
    let lifetime = CLIClock.offset("+" + lifetime) ?? PlaceTile.defaultLifetime
    intake = try await store.withCache(mayAsk: true, makes: true) { [intake] cache, list in
      let source = try await list.source(id, in: cache)
      var intake = intake
      try await intake.take(tiles, from: source, cache, lifetime: lifetime, removesGone: removeGone)
      return intake
    }
  }
}
