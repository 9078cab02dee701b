import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy region create`: creates a region and loads it.
struct RegionCreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Loads all tiles of an area at some zooms, or all that a style needs there, and keeps them.",
    discussion: """
      The area is a box, or the polygons of a GeoJSON file. A box extends east from
      its west, so one whose west is greater than its east crosses the antimeridian.
      Tiles are counted first: if there are more than the limit, nothing is asked
      for. --estimate stops there, --later only remembers the region. Of a style,
      the documents are read first, as they say what else it needs.

      An interrupt pauses; a killed run continues with `bothy region resume`. Exit
      status 1 when a tile could not be had; one that does not exist isn't a failure.

      Example:  bothy region create Oslo hills --box 10.6,59.8,10.9,60 --zooms 0-14
                bothy region create Park hills --polygon park.geojson --zooms 10-16 \\
                  --estimate
      """)

  @Argument(help: "A name for the region.") var name: String
  @Argument(help: "The source of its tiles, or of a style.") var source: String
  @Option(
    parsing: .unconditional, help: ArgumentHelp("A box: west,south,east,north.", valueName: "degrees"))
  var box: String?
  @Option(
    help: ArgumentHelp("A GeoJSON file with polygons; - for standard input.", valueName: "file"),
    completion: .file())
  var polygon: String?
  @Option(help: ArgumentHelp("The zooms, 0-14.", valueName: "low-high")) var zooms: String
  @Option(help: ArgumentHelp("How many tiles a region may have.", valueName: "n"))
  var limit = RegionLimits().tilesInOne
  @Option(help: ArgumentHelp("How many are got at a time.", valueName: "n")) var parallel = 4
  @Flag(help: "Count, and print tiles and bytes only.") var estimate = false
  @Flag(help: "Remember it, and load it when it is resumed.") var later = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (box == nil) != (polygon == nil) else { throw ValidationError("Give --box or --polygon.") }
    guard (1...1024).contains(parallel) else { throw ValidationError("--parallel is 1 to 1024.") }
    guard limit > 0 else { throw ValidationError("--limit is 1 at least.") }
    _ = try zoomRange()
  }

  func run() async throws {
    let list = try store.sources()
    guard let record = list[source] else { throw SourceList.unknown(source, list) }
    let (area, zooms) = (try area(), try zoomRange())
    let limits = RegionLimits(tilesInOne: limit, tilesInAll: max(limit, RegionLimits().tilesInAll))
    try await store.withRegions(mayAsk: true, makes: true, limits: limits, parallel: parallel) { regions in
      let plan: OfflineRegions.Plan
      if record.isStyle {
        let style = try await MapStyle(at: record.template, of: SourceID(source), in: regions.cache)
        plan = OfflineRegions.Plan(name: name, style: style, area: area, zooms: zooms)
      } else {
        plan = OfflineRegions.Plan(name: name, source: SourceID(source), area: area, zooms: zooms)
      }
      let estimated = try await regions.estimate(plan)
      if estimate {
        return try output.print {
          "\(name): \(estimated.text)"
        } json: {
          estimated.write(to: &$0)
        }
      }
      var region = try await regions.create(plan)
      if StandardStreams.hasTerminal { StandardStreams.note("\(name): \(estimated.text)") }
      if !later { region = try await regions.load(region, isRefresh: false) }
      try await RegionResult(region, of: regions, estimated).show(output, mustBeComplete: !later)
    }
  }

  private func area() throws -> RegionArea {
    if let box { return .box(try TileCoverCommand.box(box)) }
    return try RegionArea(geoJSON: Data(try StandardStreams.read(polygon ?? "-")))
  }

  private func zoomRange() throws -> ZoomRange {
    let ends = zooms.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count == 2, let low = ends[0], let high = ends[1] else {
      throw ValidationError("--zooms is low-high: 0-14.")
    }
    do { return try ZoomRange(low, high) } catch { throw ValidationError(error.message) }
  }
}
