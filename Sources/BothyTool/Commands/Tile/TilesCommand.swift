import ArgumentParser
import BothyGeo
import BothyHTTP

/// `bothy tiles`: reads and writes archives of tiles.
struct TilesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tiles",
    abstract: "Looks into archives of tiles, moves tiles between archives and the cache, and serves a style.",
    discussion: """
      Archives are MBTiles and PMTiles files, and PMTiles at an address, which are
      read by parts.

      Example:  bothy tiles info hills.pmtiles --check
                bothy tiles info https://tiles.example.org/hills.pmtiles
                bothy tiles verify hills.pmtiles
                bothy tiles get https://tiles.example.org/hills.pmtiles hills.pmtiles
                bothy tiles export hills.mbtiles hills.pmtiles
                bothy tiles import hills.mbtiles osm
                bothy tiles export osm oslo.mbtiles --lat 59.91 --lon 10.75 \\
                  --zooms 10-16
                bothy tiles serve outdoors --offline
      """,
    subcommands: [
      TilesInfoCommand.self, TilesVerifyCommand.self, TilesGetCommand.self, TilesImportCommand.self,
      TilesExportCommand.self, TilesServeCommand.self,
    ])
}

/// An archive for reading: a file, or PMTiles at an address.
enum ReadArchive {
  static func open(_ place: String) async throws -> any TileArchive {
    guard place.hasPrefix("http://") || place.hasPrefix("https://") else {
      return try await TileArchives.open(path: place)
    }
    return try await PMTiles(HTTPRangeSource(url: place, loader: .system))
  }
}
