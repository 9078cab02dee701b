import ArgumentParser
import BothyPacks
import BothyStore
import Foundation

/// `bothy pack build`: builds a pack from files of rows.
struct PackBuildCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "build",
    abstract: "Builds a pack from CSV, JSON, JSON lines or a table of a SQLite file.",
    discussion: """
      Each input is [Type=]FILE; without a type the file's name is the type's. What
      the columns hold is found out and printed; --print-schema prints it as a
      document to be edited and given with --schema. Ids come from --id, else the
      column 'id', else the number of the row. The same input gives the same bytes.

      Columns are named [Type.]column; several with commas, or by repeating the
      option.

      Example:  bothy pack build times.pack City=cities.csv Time=times.csv \\
                  --shard-by city
                bothy pack build huts.pack huts.csv --geo lat,lon \\
                  --full-text name,notes
                bothy pack build sounds.pack Sound=app.sqlite --table sounds
      """)

  @Argument(help: ArgumentHelp("The folder of the new pack.", valueName: "pack"), completion: .directory)
  var folder: String
  @Argument(help: ArgumentHelp("Files of rows: [Type=]FILE.", valueName: "input"), completion: .file())
  var inputs: [String]
  @Option(help: "The pack's name; by default the folder's.") var name: String?
  @Option(name: .customLong("pack-version"), help: ArgumentHelp("Which edition it is.", valueName: "version"))
  var edition = "1"
  @Option(help: "The form of the inputs; by default what their names end with.") var format: PackFormat?
  @Option(help: ArgumentHelp("The table of a SQLite file that has several.", valueName: "name")) var table:
    String?
  @Option(help: ArgumentHelp("The schema, as a document.", valueName: "file"), completion: .file())
  var schema: String?
  @Option(help: ArgumentHelp("The columns that make the id of a row.", valueName: "columns")) var id:
    [String] = []
  @Option(
    help: ArgumentHelp(
      "A file for each value of a column: queries of one open no other.", valueName: "column"))
  var shardBy: [String] = []
  @Option(help: ArgumentHelp("Columns whose words are found by MATCHES.", valueName: "columns"))
  var fullText: [String] = []
  @Option(
    help: ArgumentHelp(
      "A column of places, or latitude and longitude: --geo lat,lon, --geo start=lat,lon.",
      valueName: "columns"))
  var geo: [String] = []
  @Option(help: ArgumentHelp("Columns to be indexed.", valueName: "columns")) var index: [String] = []
  @Flag(help: "Print the schema as a document and build nothing.") var printSchema = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !inputs.isEmpty else { throw ValidationError("Name at least one file of rows.") }
  }

  func run() async throws {
    let start = ContinuousClock.now
    let plan = try PackPlan(self)
    guard !printSchema else { return try StandardStreams.write(plan.schema.json.canonicalText) }
    let line = ProgressLine()
    let url = URL(filePath: folder)
    let builder = PackBuilder(
      name: name ?? url.deletingPathExtension().lastPathComponent, version: edition, schema: plan.schema,
      shardBy: plan.shardBy)
    let manifest = try builder.build(at: url) { progress in
      switch progress {
      case .rows(let count): line.show("\(count) rows")
      case .files(let count, let total): line.show("\(count) of \(total) files")
      }
    } _: { pack in
      for columns in plan.inputs {
        let record = columns.reader()
        try columns.input.forEach { try pack.add(try record($0)) }
      }
    }
    line.clear()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try output.print {
      "Built \(manifest.name) \(manifest.version): \(manifest.rows) rows in \(manifest.files.count) files, "
        + "\(manifest.bytes) bytes, in \(seconds.shown) s.\n" + PackOutput.types(manifest)
    } json: { writer in
      manifest.writeMembers(to: &writer)
      writer.member("seconds", seconds)
    }
  }
}
