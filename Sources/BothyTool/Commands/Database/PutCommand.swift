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

      With --draft no sync sends the record before `bothy release`: what was pending
      of it waits too, but for earlier transactions that sync as a whole.

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
  @Flag(help: "Hold the change back from syncing, with earlier pending changes of the record.") var draft =
    false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !draft || save ?? .draft == .draft else {
      throw ValidationError("--draft holds the change back, and --save sends it. Leave one of them out.")
    }
  }

  func run() async throws {
    try await Session.with(database) { session in
      if save == .remote || save == .remoteThenLocal { try session.requireServer() }
      let reader = RecordReader(type: try session.type(type), container: container)
      let record = try reader.record(parsing: record == "-" ? StandardStreams.read("-") : Array(record.utf8))
        .record
      let earlier = draft ? try session.store.pendingEntry(record.recordID) : nil
      let receipt = try await session.store.save(
        record, options: RequestOptions(writePolicy: draft ? .draft : save))
      let waits = save == .localThenRemote && !draft
      let problem = try await session.problem(with: receipt, waits: waits)
      if save == .remoteThenLocal && receipt.known == .pending { try session.explainWaiting(receipt.record) }
      let state = try session.store.state(of: record.recordID).name
      let version = try session.version(of: record.recordID, receipt)
      let holds = try earlier.map { try session.holds($0) } ?? false
      try output.print {
        "\(record.recordID) is \(state)\(version.map { ", version \($0)" } ?? "")."
          + (holds ? " What was pending of it before waits with it." : "")
          + (state == "draft" ? " " + session.hint(ofDraft: record.recordID) : "")
      } json: { writer in
        writer.member("id", record.id)
        writer.member("state", state)
        writer.member("version", version)
        if draft { writer.member("holdsEarlier", holds) }
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
    do { return try problem(try await receipt.outcome(), receipt.record) } catch let error as BothyError {
      if error.code == .unreachable {
        StandardStreams.note(Self.unreached)
        return nil
      }
      guard try store.isPending(receipt.record) else { throw error }
      return ToolError("\(ErrorMessage(error).sentence) The change of \(receipt.record) is kept here.")
    }
  }

  private static let unreached =
    "The server can't be reached; the change is kept here and sent by the next sync."

  /// Says why a change that was to be sent at once is pending.
  fileprivate func explainWaiting(_ record: RecordID) throws {
    let entry = try store.pendingEntry(record)
    let reason = try entry.flatMap { try store.waitingReasons(for: [$0]).first }
    guard let other = reason?.record else { return StandardStreams.note(Self.unreached) }
    StandardStreams.note("The change is kept here; it waits for \(other).")
  }

  private func problem(_ outcome: SaveOutcome, _ record: RecordID) throws -> ToolError? {
    switch outcome {
    case .pending, .draft, .accepted, .withdrawn, .expired, .unknown: return nil
    case .merged:
      StandardStreams.note("\(record) was changed on the server too; \(try merge(of: record))")
      return nil
    case .overwritten:
      let lost = try store.journal.entries(of: record, limit: 1).first?.lost.map {
        String(decoding: $0.bytes, as: UTF8.self)
      }
      return ToolError(
        "\(record) was changed on the server too, and the server's side stayed. "
          + (lost.map { "Yours was: \($0)" } ?? "The deletion was undone."))
    case .rejected(let reason):
      return ToolError(
        "The server rejected the change of \(record): "
          + ErrorMessage.sentence(reason.message, reason)
          + " Change it, or decide about it: bothy resolve.")
    }
  }

  /// Returns what the last merge of a record has made of the change: the decisions since the one before it.
  private func merge(of record: RecordID) throws -> String {
    let decisions = try store.journal.entries(of: record, limit: 20).dropFirst().prefix { !$0.isFinal }
    guard let loss = decisions.first(where: { !$0.lostFields.isEmpty }) else {
      return "both changes were merged."
    }
    let type = store.store.schema[record.type]
    let lost = loss.lostFields.map { field in
      let yours = type?[field.name]?.written(json: field.local) ?? field.local
      return "\(field.name) (yours was \(yours.canonicalText))"
    }
    return "the server's side stayed in \(lost.joined(separator: ", ")), and the rest was merged. "
      + "`bothy journal restore` with the number \(loss.number) brings yours back."
  }

  /// True if a change that was to be sent is a draft now.
  fileprivate func holds(_ earlier: Outbox.Entry) throws -> Bool {
    guard earlier.stage != .held, let entry = try store.pendingEntry(earlier.id) else { return false }
    return entry.stage == .held
  }

  func version(of id: RecordID, _ receipt: SaveReceipt<AnyRecord>) throws -> String? {
    if let version = try store.store.record(id)?.version { return version }
    guard case .accepted(let version) = receipt.known, !version.isEmpty else { return nil }
    return version
  }
}
