import ArgumentParser
import BothyStore
import BothySync
import Foundation

/// `bothy db blob`: reads and writes files that records name.
struct BlobCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blob",
    abstract: "Attaches a file to a record's blob field, or reads it out.",
    discussion: """
      The bytes are kept in the folder DB-blobs and uploaded by the next sync, before
      the record that names them.

      Example:  bothy db blob put notes.bothy Note 0197f3c2-… photo cat.jpg \\
                  --type image/jpeg
                bothy db blob get notes.bothy Note 0197f3c2-… photo --output cat.jpg
      """,
    subcommands: [BlobPutCommand.self, BlobGetCommand.self])
}

/// A record's field that names a blob.
struct BlobFieldOptions: ParsableArguments {
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: "The id of the record.") var id: String
  @Argument(help: "The field, of the kind blob.") var field: String

  var record: RecordID { RecordID(type: type, id: id) }

  /// Throws if the type lacks the field or it has another kind.
  func check(in session: Session) throws {
    let schema = try session.type(type)
    guard let declared = schema[field] else {
      let known = schema.fields.map(\.name).joined(separator: ", ")
      throw BothyError(.unknownField, "\(type) has no field '\(field)'. Known: \(known).")
    }
    guard declared.kind == .blob else {
      throw ToolError("\(type).\(field) isn't a blob field. Set it with: bothy db put.")
    }
  }
}

struct BlobPutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "put", abstract: "Copies a file into the store and names it in a record's field.",
    discussion: "Example:  bothy db blob put notes.bothy Note 0197f3c2-… photo cat.jpg --type image/jpeg")

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var target: BlobFieldOptions
  @Argument(help: ArgumentHelp("The file.", valueName: "file"), completion: .file()) var file: String
  @Option(
    name: .customLong("type"), help: ArgumentHelp("The media type, such as image/jpeg.", valueName: "type"))
  var contentType: String?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try target.check(in: session)
      guard FileManager.default.fileExists(atPath: file) else {
        throw ToolError("The file \(file) does not exist. Check the path.")
      }
      guard try session.store.store.record(target.record) != nil else {
        throw ToolError("\(target.record) does not exist. Make it first: bothy db put.")
      }
      let blob = try await session.store.blobs.add(
        contentsOf: URL(fileURLWithPath: file), contentType: contentType)
      let field = target.field
      var record = AnyRecord(target.type, id: target.id, [:])
      record[field] = FieldValue(blob)
      try await session.store.save(record)
      let state = try session.store.state(of: target.record).name
      try output.print {
        "\(target.record).\(field) is \(blob.size) bytes, sha256 \(blob.sha256); the record is \(state)."
      } json: { writer in
        writer.member("id", target.id)
        writer.member("state", state)
        writer.member("sha256", blob.sha256)
        writer.member("size", blob.size)
      }
    }
  }
}

struct BlobGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Writes the bytes that a record's field names, downloading them if need be.",
    discussion: """
      Fails with status 1 when the field is empty or the bytes are neither here nor
      on the server.

      Example:  bothy db blob get notes.bothy Note 0197f3c2-… photo --output cat.jpg
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var target: BlobFieldOptions
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write; by default standard output.", valueName: "file"))
  var output: String?
  @OptionGroup var form: OutputOptions

  func validate() throws {
    if form.json && output == nil {
      throw ValidationError("--json prints what was written; say where the bytes go with --output.")
    }
  }

  func run() async throws {
    try await Session.with(database) { session in
      try target.check(in: session)
      guard let record = try session.store.store.record(target.record) else {
        throw ToolError("\(target.record) does not exist. List those there are: bothy db query.")
      }
      guard let blob = record[target.field].blob else {
        throw ToolError("\(target.record).\(target.field) is empty.")
      }
      try await write(blob, session.store.blobs)
      guard let output else { return }
      let state = try session.store.blobs.state(of: blob)
      try form.print {
        "\(blob.size) bytes are in \(output)."
      } json: { writer in
        writer.member("sha256", blob.sha256)
        writer.member("size", blob.size)
        writer.member("type", blob.contentType)
        if case .remote(let url) = state { writer.member("url", url.absoluteString) }
        writer.member("path", output)
      }
    }
  }

  private func write(_ blob: Blob, _ blobs: BlobStorage) async throws {
    guard let output else {
      for try await piece in blobs.pieces(of: blob) { try StandardStreams.write(Array(piece)) }
      return
    }
    let file = try await blobs.file(for: blob)
    let target = URL(fileURLWithPath: output)
    // An earlier file stays until all bytes are beside it, and a folder is never replaced.
    let new = target.deletingLastPathComponent().appending(path: ".\(UUIDv7.make())").path
    do {
      try FileManager.default.copyItem(atPath: file.path, toPath: new)
      guard rename(new, target.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    } catch {
      try? FileManager.default.removeItem(atPath: new)  // the first error is the one to report
      throw ToolError("\(output) can't be written. Check that it is no folder, and the folder's rights.")
    }
  }
}
