import ArgumentParser
import BothyStore
import BothySync
import BothySyncService

/// `bothy admin export`: prints a space as text.
struct ExportSpaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Prints the records of a space, one JSON document a line.",
    discussion: """
      They have their owners and sharing, lists are among them, and all are of one
      moment. `bothy admin import` brings them back, here or on another server. Blobs
      are files: copy the folder PATH-blobs too.

      Example:  bothy admin export --database server.sqlite home > home.jsonl
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The space.") var space: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      _ = try await session.spaces([space])
      if output.json { try StandardStreams.write(Array(#"{"records":["#.utf8)) }
      let lines = Lines(isDocument: output.json)
      try await session.service.export(space: space) { try lines.write($0) }
      if output.json { try StandardStreams.write("]}") }
    }
  }

  /// Writes records as they come. One thread reads the one consistent state.
  private final class Lines: Sendable {
    private let isDocument: Bool
    private let count = Counter()

    init(isDocument: Bool) { self.isDocument = isDocument }

    func write(_ record: ServerRecord) throws {
      var writer = JSONWriter(reserving: 512)
      record.write(to: &writer)
      let isFirst = count.next() == 1
      let before = isDocument && !isFirst ? Array(",\n".utf8) : []
      try StandardStreams.write(before + writer.bytes + (isDocument ? [] : [UInt8(ascii: "\n")]))
    }
  }
}

/// `bothy admin import`: reads the output of an export into a space.
struct ImportSpaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Brings the records of an export into a space.",
    discussion: """
      Owners, sharing and times of change are kept, versions are given again. Records
      that are there with the same type and id are replaced, others stay. Unchanged
      records are left alone, so an import that broke off can be repeated. A
      running server's devices get it with their next sync. A record whose owner,
      audience or members have a name that isn't in Unicode's normal form C (NFC) is
      left out and reported, because no token can have it.

      Example:  bothy admin import --database server.sqlite home home.jsonl
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The space; it is made when it is not there.") var space: String
  @Argument(help: "What the export printed, or - for standard input.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp(
      "The server's schema: those who may no longer see a record that is replaced are told.",
      valueName: "file"), completion: .file())
  var schema: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (1...128).contains(space.utf8.count) else {
      throw ValidationError("A space's name has 1 to 128 bytes.")
    }
    guard space.isNormalName else {
      throw ValidationError("A space's name is in Unicode's normal form C (NFC). Write it in this form.")
    }
  }

  func run() async throws {
    try await AdminSession.with(served) { session in
      let reader = try LineReader(file)
      var service = session.service
      if let schema { service.rules.schema = try StoreSchema(json: StandardStreams.read(schema)) }
      var total = ServerImport()
      var batch: [ServerRecord] = []
      func bring() async throws {
        let done = try await service.restore(batch, into: space)
        total.inserted += done.inserted
        total.updated += done.updated
        total.unchanged += done.unchanged
        total.refused.merge(done.refused) { $1 }
        batch.removeAll(keepingCapacity: true)
      }
      while let line = try reader.next() {
        guard line.contains(where: { $0 > 0x20 }) else { continue }
        do { batch.append(try JSONReader.read(line) { try ServerRecord(from: &$0) }) } catch {
          throw ToolError(
            "Line \(reader.line) of \(file) isn't a record of an export: \(error). "
              + "\(total.inserted + total.updated) records of the lines before it are in \(space).")
        }
        if batch.count == 500 { try await bring() }
      }
      try await bring()
      let done = total
      try output.print {
        "Imported into \(space): \(done.inserted) new, \(done.updated) replaced, \(done.unchanged) the same."
      } json: { writer in
        writer.member("space", space)
        writer.member("inserted", done.inserted)
        writer.member("updated", done.updated)
        writer.member("unchanged", done.unchanged)
      }
      if let first = done.refused.values.map(\.message).min() {
        throw ToolError("Records left out: \(done.refused.count). The first: \(first)")
      }
    }
  }
}
