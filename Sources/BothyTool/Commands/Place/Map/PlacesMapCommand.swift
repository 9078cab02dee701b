import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy places map`: draws places and their tiles.
struct PlacesMapCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "map",
    abstract: "Draws places and tiles to an SVG or PNG file.",
    discussion: """
      Tiles are green while they are fresh, amber when they are older than
      --lifetime, and red where they are missing. Roads, paths, areas and places have
      the colours of the legend. The picture says whose data it shows: what the
      loaded archives and sources state, what --source states, and --attribution.

      A picture that ends in .png is made by rsvg-convert, which has to be installed
      (librsvg2-bin in Debian, librsvg in Homebrew); SVG needs nothing.

      Example:  bothy places map oslo.places --lat 59.91 --lon 10.75 \\
                  --output oslo.svg
                bothy places map oslo.places --box 10.74,59.90,10.76,59.92 \\
                  --output oslo.png --width 1600
      """)

  @OptionGroup var places: PlacesFile
  @OptionGroup var area: AreaOptions
  @Option(
    name: [.long, .customShort("o")],
    help: ArgumentHelp("The picture to make; - for SVG on standard output.", valueName: "file"),
    completion: .file())
  var output: String
  @Option(help: ArgumentHelp("The width of the picture.", valueName: "pixels")) var width = 1000
  @Option(help: "The zoom of the tiles.") var zoom = 16
  @Option(help: ArgumentHelp("Tiles younger than this count as fresh.", valueName: "time"))
  var lifetime = "7d"
  @Option(help: ArgumentHelp("Name a source of the cache's folder as that of the data.", valueName: "id"))
  var source: String?
  @Option(help: ArgumentHelp("Whose data it is, besides the known owners.", valueName: "text"))
  var attribution: [String] = []
  @Option(help: ArgumentHelp("Names in a language such as fr, where there are any.", valueName: "code"))
  var language: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    guard area.isGiven else { throw ValidationError("Say what to draw: --lat and --lon, or --box.") }
    guard (100...10_000).contains(width) else { throw ValidationError("--width is 100 to 10000.") }
    guard CLIClock.offset("+" + lifetime) != nil else {
      throw ValidationError("--lifetime is a time such as 7d or 12h.")
    }
  }

  func run() async throws {
    let box = try area.bounds()
    let now = try CLIClock().now()
    let drawing = try await places.withPlaces { try draw($0, in: box, at: now) }
    let svg = drawing.svg()
    if output == "-" { return try StandardStreams.write(svg) }
    if output.lowercased().hasSuffix(".png") {
      try Picture.writePNG(svg, width: width, to: output)
    } else {
      try Data(svg.utf8).write(to: URL(filePath: output), options: .atomic)
    }
    let counts = drawing.counts
    try options.print {
      "\(output): \(counts.features) features, \(counts.tiles[.fresh] ?? 0) fresh tiles, "
        + "\(counts.tiles[.stale] ?? 0) stale, \(counts.tiles[.missing] ?? 0) missing"
    } json: { writer in
      writer.member("file", output)
      writer.member("features", counts.features)
      writer.object("tiles") { writer in
        for state in MapDrawing.TileState.allCases { writer.member(state.rawValue, counts.tiles[state] ?? 0) }
      }
      writer.names("attribution", drawing.attributions)
    }
  }

  private func draw(_ places: PlaceStore, in box: GeoBox, at now: Int64) throws -> MapDrawing {
    let tiles = try area.tiles(zoom: zoom, limit: 2500)
    let held = try places.held(tiles)
    let lifetime = CLIClock.offset("+" + lifetime) ?? PlaceTile.defaultLifetime
    let states = tiles.map { tile -> (Tile, MapDrawing.TileState) in
      guard let validated = held[tile] else { return (tile, .missing) }
      return (tile, PlaceTile.isFresh(validatedAt: validated, at: now, lifetime: lifetime) ? .fresh : .stale)
    }
    // The middle of a visible feature may be outside of the picture.
    let margin = try GeoBox(around: box.center, radius: box.center.distance(to: box.corner) + 500)
    let features = try places.in(box: margin, .everything)
    return MapDrawing(
      box: box, width: Double(width), tiles: states, features: features,
      attributions: try attributions(), language: language)
  }

  private func attributions() throws -> [String] {
    var texts = Attribution.of(places.file).union(attribution)
    if let source {
      let list = try store.sources()
      guard let record = list[source] else { throw SourceList.unknown(source, list) }
      if !record.attribution.isEmpty { texts.insert(record.attribution) }
    }
    return texts.sorted()
  }
}

extension GeoBox {
  fileprivate var corner: Coordinate { Coordinate(latitude: north, longitude: east) }
}
