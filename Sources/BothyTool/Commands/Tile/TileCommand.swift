import ArgumentParser

/// `bothy tile`: finds the tile of a place, the tiles of an area, and the contents of a tile.
struct TileCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tile",
    abstract: "Finds tiles by place, area, quadkey or number, looks into them, and gets them.",
    discussion: """
      Example:  bothy tile locate --lat 47.6 --lon -122.33 --zoom 16
                bothy tile cover --lat 47.6 --lon -122.33 --radius 500 --zoom 16
                bothy tile quadkey 0212300302202012
                bothy tile bounds 16 10498 22889
                bothy tile features 16_18109_23965.json
                bothy tile decode 14_5041_10944.mvt
                bothy tile get osm 16 10498 22889 --output tile.png
      """,
    subcommands: [
      TileLocateCommand.self, TileCoverCommand.self, TileQuadkeyCommand.self, TileBoundsCommand.self,
      TileBatchCommand.self, TileFeaturesCommand.self, TileDecodeCommand.self, TileGetCommand.self,
    ])
}
