import ArgumentParser
import BothyStore
import BothySync

/// `bothy db import`: reads many records from a file or a pipe.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Adds many records from JSON lines, JSON, CSV or GeoJSON.",
    discussion: """
      Records whose id exists are updated. One transaction a batch: a bad record
      stops the import with its place named, and the batches before it are kept.
      In GeoJSON a feature's id is its 'id' or 'osm_ids'. Fields are filled from
      members and properties of the same name, 'geometry' and 'properties' as JSON,
      a coordinate field from the middle of the geometry.

      Example:  bothy db import notes.bothy Note notes.csv
                bothy db import map.bothy Place - --format geojson < huts.json
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the records.") var type: String
  @Argument(help: "The file, or - for standard input.", completion: .file()) var file = "-"
  @Option(help: "The file's format; by default what its name ends with, else jsonl.") var format:
    ImportFormat?
  @Option(help: ArgumentHelp("Records in one transaction.", valueName: "n")) var batch = 1000
  @Option(help: ArgumentHelp("The container of new records.", valueName: "path")) var container: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch is at least 1.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let reader = RecordReader(type: try session.type(type), container: container)
      let source = try (format ?? ImportFormat(fileName: file)).source(file, reader)
      let line = ProgressLine()
      let start = ContinuousClock.now
      let done = try await session.store.store.importRecords(from: source, batch: batch) { progress in
        line.show("\(progress.inserted + progress.updated) records imported")
      }
      line.clear()
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      try output.print {
        "Imported \(done.inserted + done.updated) records (\(done.inserted) new, \(done.updated) known) in \(seconds.shown) s."
      } json: { writer in
        writer.member("inserted", done.inserted)
        writer.member("updated", done.updated)
        writer.member("seconds", seconds)
      }
    }
  }
}

/// A progress line on a terminal. Without a terminal, it prints nothing.
struct ProgressLine: Sendable {
  private let isShown = StandardStreams.hasTerminal

  func show(_ text: String) { if isShown { StandardStreams.status(text) } }

  func clear() { if isShown { StandardStreams.status("") } }
}

extension Double {
  /// The number with two decimals.
  var shown: String {
    let hundredths = Int((self * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
