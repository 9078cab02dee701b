import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy db export`: writes records to a file that `db import` can read.
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Prints records as JSON lines, JSON or CSV, in a form that import reads back.",
    discussion: """
      Reads page by page, in bounded memory. --json is --format json.

      Example:  bothy db export notes.bothy Note > notes.jsonl
                bothy db export notes.bothy Note --format csv --where "done = false"
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var query: QueryOptions
  @Option(help: "jsonl, json or csv.") var format: ExportFormat?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !output.json || format ?? .json == .json else {
      throw ValidationError("--json is --format json. Leave one of them out.")
    }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let type = try session.type(query.type)
      let pages = session.store.store.records(try query.query())
      switch format ?? (output.json ? .json : .jsonl) {
      case .jsonl: try await jsonLines(pages, session)
      case .json: try await json(pages, session)
      case .csv: try await csv(pages, type)
      }
    }
  }

  private func shown(_ record: AnyRecord, _ session: Session, _ hasPending: Bool) throws -> RecordView {
    hasPending ? try RecordView(record, in: session.store) : RecordView(synced: record, in: session.store)
  }

  private func jsonLines(_ pages: RecordPages<AnyRecord>, _ session: Session) async throws {
    let hasPending = try session.store.pendingCounts().total > 0
    for try await record in pages {
      var writer = JSONWriter(reserving: 512)
      let shown = try shown(record, session, hasPending)
      writer.object { shown.write(to: &$0) }
      try StandardStreams.write(writer.bytes + [UInt8(ascii: "\n")])
    }
  }

  private func json(_ pages: RecordPages<AnyRecord>, _ session: Session) async throws {
    let hasPending = try session.store.pendingCounts().total > 0
    var opening = "{\"records\":["
    for try await record in pages {
      var writer = JSONWriter(reserving: 512)
      let shown = try shown(record, session, hasPending)
      writer.object { shown.write(to: &$0) }
      try StandardStreams.write(Array(opening.utf8) + writer.bytes)
      opening = ",\n"
    }
    try StandardStreams.write(opening == ",\n" ? "]}" : opening + "]}")
  }

  private func csv(_ pages: RecordPages<AnyRecord>, _ type: TypeSchema) async throws {
    let names = type.fields.map(\.name)
    try StandardStreams.write((["id", "container"] + names).map(Self.cell).joined(separator: ","))
    for try await record in pages {
      let shown = type.written(record)
      let cells = [record.id, record.container].map(Self.cell) + names.map { Self.cell(shown[$0]) }
      try StandardStreams.write(cells.joined(separator: ","))
    }
  }

  private static func cell(_ value: FieldValue) -> String {
    switch value {
    case .null: ""
    case .coordinate(let place): "\"\(place.latitude),\(place.longitude)\""
    default: cell(value.shown)
    }
  }

  /// Returns a cell, quoted as RFC 4180 requires. Empty text is quoted, to distinguish it from null.
  private static func cell(_ text: String) -> String {
    // A comma with an accent behind it is another character in Swift, but readers look for its byte.
    let needsQuotes = text.isEmpty || text.utf8.contains { ",\"\r\n".utf8.contains($0) }
    return needsQuotes ? text.quoted(by: "\"") : text
  }
}

enum ExportFormat: String, CaseIterable, ExpressibleByArgument { case jsonl, json, csv }
