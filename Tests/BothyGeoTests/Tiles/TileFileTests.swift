import BothyGeo
import Testing

/// The tiles that names of files denote.
@Suite("Tiles as files", .timeLimit(.minutes(5)))
struct TileFileTests {
  @Test(
    "Zoom, column and row, in folders or joined, and a quadkey name one tile",
    arguments: [
      "16/18109/23965.json", "maps/walks/16/18109/23965.geojson", "/16/18109/23965", "16_18109_23965.json",
      "maps/16_18109_23965.json", "0302231230133303.json", "maps/1/0302231230133303.geojson.gz",
    ])
  func names(path: String) throws {
    #expect(Tile(filePath: path) == (try Tile(x: 18109, y: 23965, zoom: 16)))
  }

  @Test(
    "Other names denote no tile",
    arguments: [
      "", "/", ".json", "categories.json", "merged-467.json", "16_65536_0.json", "16_1.json", "16/1/x.json",
      "16_-1_0.json", "16_01_0.json", "30/0/0.json", "16/18109/23965/tiles.json", "4.json", "+1_0_0.json",
      "0302231230133303030223123013330.json",
    ])
  func others(path: String) { #expect(Tile(filePath: path) == nil) }
}
