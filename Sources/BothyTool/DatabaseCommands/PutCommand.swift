import ArgumentParser
import BothyStore
import BothySync

/// `bothy db put`: inserts a record or updates some of its fields.
struct PutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Inserts a record, or updates the given fields of one that exists.",
    discussion: """
      The record is a JSON object of fields, with 'id' to name an existing record;
      null clears a field. Dates are RFC 3339 text or milliseconds since 1970.

      Example:  bothy db put notes.bothy Note '{"title":"Milk","due":"2026-12-01"}'
                bothy db put notes.bothy Note '{"id":"0197…","due":null}'
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: ArgumentHelp("The record; - reads it from standard input.", valueName: "json")) var record:
    String
  @Option(
    help: ArgumentHelp(
      "Where the write is made first; by default it waits here for the next sync.", valueName: "policy"))
  var save: WritePolicy?
  @Option(help: ArgumentHelp("The container of a new record.", valueName: "path")) var container: String?
  @Flag(help: "Hold the change back from syncing.") var draft = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      if save == .remote || save == .remoteThenLocal { try session.requireServer() }
      let reader = RecordReader(type: try session.type(type), container: container)
      let record = try reader.record(parsing: record == "-" ? StandardStreams.read("-") : Array(record.utf8))
        .record
      let receipt = try await session.store.save(
        record, options: RequestOptions(writePolicy: draft ? .draft : save))
      let problem = try await session.problem(with: receipt, waits: save == .localThenRemote && !draft)
      let state = try session.store.state(of: record.recordID).name
      let version = try session.version(of: record.recordID, receipt)
      try output.print {
        "\(record.recordID) is \(state)\(version.map { ", version \($0)" } ?? "")."
      } json: { writer in
        writer.member("id", record.id)
        writer.member("state", state)
        writer.member("version", version)
      }
      if let problem { throw problem }
    }
  }
}

extension Session {
  /// Waits for the server's verdict if requested. Returns an error if the server rejected the change or another change
  /// won.
  ///
  /// Without a network the write stays pending, which isn't an error.
  func problem(with receipt: SaveReceipt<AnyRecord>, waits: Bool) async throws -> ToolError? {
    guard waits && address != nil else { return try problem(receipt.known, receipt.record) }
    do { return try problem(try await receipt.outcome(), receipt.record) } catch let error as BothyError
      where error.code == .unreachable
    {
      StandardStreams.note("The server can't be reached; the change is kept here and sent by the next sync.")
      return nil
    }
  }

  private func problem(_ outcome: SaveOutcome, _ record: RecordID) throws -> ToolError? {
    switch outcome {
    case .pending, .draft, .accepted, .withdrawn, .expired, .unknown: return nil
    case .merged:
      StandardStreams.note("\(record) was changed on the server too; both changes were merged.")
      return nil
    case .overwritten:
      let lost = try store.journal.entries(of: record, limit: 1).first?.lost.map {
        String(decoding: $0.bytes, as: UTF8.self)
      }
      return ToolError(
        "\(record) was changed on the server too, and the server's side stayed. "
          + (lost.map { "Yours was: \($0)" } ?? "The deletion was undone."))
    case .rejected(let reason):
      let fields = reason.fields.map(\.message).joined(separator: " ")
      return ToolError(
        "The server refused the change of \(record): "
          + [reason.message, fields].filter { !$0.isEmpty }.joined(separator: " ")
          + " Change it, or decide about it: bothy resolve.")
    }
  }

  func version(of id: RecordID, _ receipt: SaveReceipt<AnyRecord>) throws -> String? {
    if let version = try store.store.record(id)?.version { return version }
    guard case .accepted(let version) = receipt.known, !version.isEmpty else { return nil }
    return version
  }
}
