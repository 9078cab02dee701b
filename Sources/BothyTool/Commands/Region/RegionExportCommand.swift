import ArgumentParser
import BothyGeo
import BothyStore
import Foundation

/// `bothy region export`: writes a region to one file.
struct RegionExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes the stored tiles of a region into an MBTiles or PMTiles file.",
    discussion: """
      The kind is the file's extension, or --format. Sends no request. What the
      region still lacks is counted and left out.

      Example:  bothy region export Oslo oslo.pmtiles
                bothy region export Oslo oslo.mbtiles --json
      """)

  /// The formats of archives that can be written.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case mbtiles, pmtiles

    var container: TileArchiveInfo.Container { self == .mbtiles ? .mbtiles : .pmtiles }
  }

  @Argument(help: "The region's name.") var name: String
  @Argument(help: "The file to make; it must not be there yet.", completion: .file()) var file: String
  @Option(help: "What to make, whatever the file is called.") var format: Format?
  @OptionGroup var store: CacheStoreOptions
  @Option(help: ArgumentHelp("Of a style's region: the source, by its name in the style.", valueName: "name"))
  var source: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard kind != nil else {
      throw ValidationError("Call the file .mbtiles or .pmtiles, or give --format.")
    }
  }

  private var kind: Format? { format ?? Format(rawValue: URL(filePath: file).pathExtension.lowercased()) }

  func run() async throws {
    let container = (kind ?? .mbtiles).container
    let (report, contents) = try await store.withRegions(mayAsk: false) { regions in
      let region = try await regions.required(name)
      let line = ProgressLine()
      defer { line.clear() }
      let report = try await regions.export(region.id, to: file, as: container, of: source) {
        line.show("\($0.written) of \(region.tiles) tiles")
      }
      return (report, try await TileArchives.open(path: file).counted().contentCount)
    }
    try output.print {
      "\(file): \(report.written) tiles, \(contents ?? 0) different contents, \(report.absent) absent, "
        + "\(report.missing) not loaded" + (report.missing == 0 ? "" : ", or packed in another way")
    } json: { writer in
      writer.member("tiles", report.written)
      writer.member("contents", contents)
      writer.member("absent", report.absent)
      writer.member("missing", report.missing)
    }
  }
}
