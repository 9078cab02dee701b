import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy tiles import`: copies an archive's tiles into the cache.
struct TilesImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Puts the tiles of an archive into the cache, as those of a source.",
    discussion: """
      From then on they are found as if the source had sent them: `bothy tile get`,
      `bothy places load --source` and apps with this cache's folder send no request
      until they are past their time. What the source sends later takes their place.

      With an area or --zooms only those tiles are copied; of an archive at an
      address only they are asked for. A source can also be an archive itself,
      without a copy: `bothy source add`.

      Tiles take about the room that they have in the archive. In a folder that was
      begun with --files each takes whole blocks of the disk, unpacked. Tiles beyond
      the cache's limits are left out, and the output counts them.

      Example:  bothy source add osm 'https://tiles.example.org/{z}/{x}/{y}.png'
                bothy tiles import hills.mbtiles osm --fresh-for 30d
      """)

  @Argument(help: "An MBTiles or PMTiles file, or the address of a PMTiles file.", completion: .file())
  var file: String
  @Argument(help: "The source whose tiles they are.") var source: String
  @Option(help: ArgumentHelp("How long they count as fresh.", valueName: "time")) var freshFor = "7d"
  @OptionGroup var area: ArchiveAreaOptions
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard CLIClock.offset("+" + freshFor) != nil else {
      throw ValidationError("--fresh-for is a time such as 7d or 12h.")
    }
  }

  func run() async throws {
    let list = try store.sources()
    guard let own = try list[source]?.source() else { throw SourceList.unknown(source, list) }
    let archive = try await ReadArchive.open(file)
    let now = Timestamp(milliseconds: try CLIClock().now())
    let lifetime = Duration.milliseconds(CLIClock.offset("+" + freshFor) ?? 0)
    let (region, zooms) = (try area.region(), try area.range())
    let report = try await store.withDisk(list) {
      try await archive.copy(into: $0, as: own, at: now, freshFor: lifetime, in: region, zooms: zooms)
    }
    try output.print {
      "\(report.written) tiles imported into \(source)"
        + (report.left.isEmpty ? "" : ", \(report.left.count) left out: too large, or no room")
    } json: { writer in
      writer.member("tiles", report.written)
      writer.member("left", report.left.count)
    }
  }
}

/// `bothy tiles export`: writes tiles to one file.
struct TilesExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract:
      "Writes an archive, or what the cache has of a source, into a new archive, equal contents once.",
    discussion: """
      The new file's extension says of which kind it is: .mbtiles or .pmtiles. Of an
      archive (.mbtiles, .pmtiles) an area and zooms may be chosen. A source of the
      cache needs both; no server is asked, and tiles that are not there are counted
      as left out. So are tiles that are packed in another way than the first, as an
      archive has one packing.

      Example:  bothy tiles export hills.pmtiles hills.mbtiles
                bothy tiles export https://example.org/hills.pmtiles hills.mbtiles
                bothy tiles export osm oslo.pmtiles --box 10.6,59.8,10.9,60.0 \\
                  --zooms 10-16
      """)

  @Argument(help: "An archive, its address, or a source of the cache.", completion: .file())
  var origin: String
  @Argument(help: "The file to make; it must not be there yet.", completion: .file()) var target: String
  @OptionGroup var area: ArchiveAreaOptions
  @Option(help: ArgumentHelp("How many tiles may be looked for.", valueName: "n")) var limit = 1_000_000
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard ArchiveFile.isNamed(origin) || area.place.isGiven == (area.zooms != nil) else {
      throw ValidationError("A source of the cache needs an area and --zooms.")
    }
  }

  private var isSource: Bool { area.isGiven && !ArchiveFile.isNamed(origin) }

  func run() async throws {
    let (written, left): (Int, Int)
    if isSource, let zooms = try area.range() {
      let report = try await exportSource(zooms.lowest...zooms.highest)
      (written, left) = (report.written, report.left.count)
    } else {
      let archive = try await ReadArchive.open(origin)
      written = try await ArchiveFile.copy(archive, to: target, in: area.region(), zooms: area.range())
      left = 0
    }
    let contents = try await TileArchives.open(path: target).counted().contentCount
    try output.print {
      "\(target): \(written) tiles, \(contents ?? 0) different contents"
        + (left == 0 ? "" : ", \(left) left out: not in the cache, or packed in another way")
    } json: { writer in
      writer.member("tiles", written)
      writer.member("contents", contents)
      if isSource { writer.member("left", left) }
    }
  }

  private func exportSource(_ zooms: ClosedRange<Int>) async throws -> ArchiveTransferReport {
    let list = try store.sources()
    guard let record = list[origin] else { throw SourceList.unknown(origin, list) }
    let bounds = try area.place.bounds()
    let writesPMTiles = ArchiveFile.isPMTiles(target)
    var tiles: [Tile] = []
    for zoom in zooms {
      tiles += try TileGrid(covering: bounds, zoom: zoom).tiles(limit: limit - tiles.count)
    }
    let id = SourceID(origin)
    return try await store.withDisk(list) { [tiles] disk in
      let info = TileArchiveInfo(
        container: writesPMTiles ? .pmtiles : .mbtiles, name: record.name.isEmpty ? record.id : record.name,
        attribution: record.attribution.isEmpty ? nil : record.attribution, bounds: bounds)
      return writesPMTiles
        ? try await PMTilesWriter.export(tiles, of: id, from: disk, to: target, info)
        : try await MBTilesWriter.export(tiles, of: id, from: disk, to: target, info)
    }
  }
}
