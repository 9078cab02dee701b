import ArgumentParser
import BothyPacks
import BothyStore
import Foundation
import Synchronization

/// `bothy pack info`: prints the manifest of a pack.
struct PackInfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Prints what a pack has: types, rows, files, checksums.",
    discussion: "Example:  bothy pack info times.pack")

  @OptionGroup var pack: PackArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let manifest = try pack.open().manifest
    try output.print {
      var table = TextTable(["file", "key", "rows", "bytes", "sha256"])
      for file in manifest.files {
        table.add([
          file.name, file.key.shown, "\(file.rows)", "\(file.bytes)", String(file.sha256.prefix(16)),
        ])
      }
      return "\(manifest.name) \(manifest.version): \(manifest.rows) rows, \(manifest.bytes) bytes, "
        + "fingerprint \(manifest.fingerprint.prefix(16))\n\(PackOutput.types(manifest))\n\(table.text(empty: ""))"
    } json: {
      manifest.writeMembers(to: &$0)
    }
  }
}

/// `bothy pack query`: reads records of a pack.
struct PackQueryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Prints the records of a pack that fit a condition.",
    discussion: """
      Conditions and orders are those of `bothy db query`. With --json also the files
      that were opened: a condition on the column the type is split by opens few.

      Example:  bothy pack query times.pack Time --where "city = 'Kuwait City'" \\
                  --order day --limit 6
      """)

  @OptionGroup var pack: PackArgument
  @OptionGroup var query: QueryOptions
  @OptionGroup var order: OrderOptions
  @Option(help: ArgumentHelp("The most records to print.", valueName: "n")) var limit: Int?
  @Option(help: ArgumentHelp("How many to leave out at the start.", valueName: "n")) var offset = 0
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit ?? 0 >= 0, offset >= 0 else {
      throw ValidationError("--limit and --offset are not negative.")
    }
  }

  func run() async throws {
    let opened = OpenedFiles()
    let pack = try self.pack.open(Pack.Options { opened.note($0) })
    guard let type = pack.schema[query.type] else {
      let known = pack.schema.types.map(\.name).joined(separator: ", ")
      throw ToolError("This pack has no type '\(query.type)'. Known: \(known).")
    }
    let asked = try order.ordered(query.query(limit: limit, offset: offset), type)
    let records = try await pack.fetch(asked).map { type.written($0) }
    try output.print {
      var table = TextTable(["id"] + type.fields.map(\.name), whole: ["id"])
      for record in records { table.add([record.id] + type.fields.map { record[$0.name].shown }) }
      return table.text(empty: "No records.")
    } json: { writer in
      writer.list("records", records) { writer, record in
        writer.members(record.recordID)
        writer.object("fields") { writer in
          for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            value.write(to: &writer)
          }
        }
      }
      writer.names("opened", opened.names)
    }
  }
}

/// The files that a pack has opened, in their order.
private final class OpenedFiles: Sendable {
  private let files = Mutex<[String]>([])

  func note(_ event: Pack.Event) { if case .opened(let name) = event { files.withLock { $0.append(name) } } }
  var names: [String] { files.withLock { $0 } }
}

/// `bothy pack verify`: checks that a pack is unchanged since it was built.
struct PackVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks the length, SHA-256, structure and rows of every file of a pack.",
    discussion: "Example:  bothy pack verify times.pack")

  @OptionGroup var pack: PackArgument
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let pack = try self.pack.open()
    let line = ProgressLine()
    do { try pack.verify { line.show("\($0) of \($1) files") } } catch {
      line.clear()
      throw error
    }
    line.clear()
    let manifest = pack.manifest
    try output.print {
      "\(manifest.name) \(manifest.version) is as it was built: \(manifest.files.count) files, \(manifest.rows) rows."
    } json: { writer in
      writer.member("ok", true)
      writer.member("files", manifest.files.count)
      writer.member("rows", manifest.rows)
      writer.member("digest", manifest.digest)
    }
  }
}

/// `bothy pack diff`: compares two packs.
struct PackDiffCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Says how the second pack differs from the first.",
    discussion: "Example:  bothy pack diff old.pack new.pack")

  @Argument(help: "The older pack.", completion: .directory) var old: String
  @Argument(help: "The newer pack.", completion: .directory) var new: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let (old, new) = (try PackArgument.open(self.old), try PackArgument.open(self.new))
    let difference = try old.difference(from: new)
    try output.print {
      if difference.isSame { return "The packs are the same." }
      var lines = ["\(difference.sameFiles) of \(new.manifest.files.count) files are the same."]
      if !difference.hasSameSchema { lines.append("The schemas differ.") }
      if !difference.types.isEmpty {
        lines.append("Only one has: \(difference.types.joined(separator: ", ")).")
      }
      lines += difference.records.map {
        "\($0.type): \($0.added) added, \($0.removed) removed, \($0.changed) changed"
          + ($0.examples.isEmpty ? "" : ": " + $0.examples.prefix(5).joined(separator: ", "))
      }
      return lines.joined(separator: "\n")
    } json: { writer in
      writer.member("same", difference.isSame)
      writer.member("sameSchema", difference.hasSameSchema)
      writer.member("sameFiles", difference.sameFiles)
      writer.names("onlyInOne", difference.types)
      writer.list("types", difference.records) { writer, records in
        writer.member("name", records.type)
        writer.member("added", records.added)
        writer.member("removed", records.removed)
        writer.member("changed", records.changed)
        writer.names("examples", records.examples)
      }
    }
  }
}
