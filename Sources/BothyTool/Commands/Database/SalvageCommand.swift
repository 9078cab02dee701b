import ArgumentParser
import BothyStore
import BothySync

/// `bothy db salvage`: copies unsent changes from a damaged file that was quarantined.
struct SalvageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Takes what was never sent out of a quarantined file.",
    discussion: """
      A damaged file is renamed when it is opened, to DB.damaged-TIME. What was
      pending in it is made pending again in the file --into names, which is made
      if it is missing; records of types that are not synced come along. The next
      sync brings the rest. --dismiss says instead that nothing is wanted of the
      old file. It is kept in either case, under another name.

      Example:  bothy db salvage notes.bothy.damaged-1767225600000 --into notes.bothy
                bothy db salvage notes.bothy.damaged-1767225600000 --dismiss
      """)

  @Argument(help: ArgumentHelp("The quarantined file.", valueName: "old"), completion: .file())
  var old: String
  @Option(help: ArgumentHelp("The file that takes over.", valueName: "db"), completion: .file())
  var into: String?
  @Flag(help: "Nothing is wanted of the old file.") var dismiss = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard dismiss != (into != nil) else { throw ValidationError("Give one of --into DB and --dismiss.") }
  }

  func run() async throws {
    guard let into else {
      try StoreMaintenance.dismiss(damagedFile: old)
      return try output.print {
        "Dismissed \(old)."
      } json: {
        $0.member("dismissed", true)
      }
    }
    let clock = try CLIClock()
    var options = StoreOptions()
    options.damagedFile = .leave
    // The schema comes from the new file if it exists, otherwise from the old one.
    let schema = try (try? LocalStore.storedSchema(at: into)) ?? LocalStore.storedSchema(at: old)
    let report = try StoreMaintenance.salvaged(
      old, into: into, schema: schema, options: options, clock: SyncClock(now: { clock.now() }))
    try output.print {
      var lines = [
        "\(report.pending) changes are pending again in \(into), and \(report.records) records are here again."
      ]
      if !report.skipped.isEmpty {
        lines.append(
          "Left out, because they have newer pending changes there, or were written together with such or unreadable "
            + "ones: \(Self.list(report.skipped)).")
      }
      if !report.lost.isEmpty { lines.append("No longer readable: \(Self.list(report.lost)).") }
      if !report.isComplete { lines.append("Parts of \(old) can't be read; what was in them is not known.") }
      return lines.joined(separator: "\n")
    } json: { writer in
      writer.member("pending", report.pending)
      writer.member("records", report.records)
      writer.list("skipped", report.skipped) { $0.member("record", $1.description) }
      writer.list("lost", report.lost) { $0.member("record", $1.description) }
      writer.member("complete", report.isComplete)
    }
  }

  private static func list(_ ids: [RecordID]) -> String { ids.map(\.description).joined(separator: ", ") }
}
