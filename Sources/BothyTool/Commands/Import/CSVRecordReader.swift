import BothyStore

/// Reads records from CSV. The first row has the names of the fields, and optionally `id` and `container`.
final class CSVRecordReader {
  private let rows: CSVReader
  private let reader: RecordReader
  private var header: [String]?
  /// The column with the containers of the records.
  private var containerColumn: Int?

  init(_ lines: LineReader, _ reader: RecordReader) {
    rows = CSVReader(lines)
    self.reader = reader
  }

  func next() throws -> AnyRecord? {
    let header = try readHeader()
    while let cells = try rows.next() {
      if cells == [nil] { continue }
      return try Located.at("Line \(rows.line)") {
        guard cells.count == header.count else {
          throw ToolError(
            "The row has \(cells.count) cells, the header \(header.count). Quote cells that hold commas.")
        }
        return try record(header, cells)
      }
    }
    return nil
  }

  private func readHeader() throws -> [String] {
    if let header { return header }
    guard let row = try rows.next() else {
      throw ToolError("The file is empty. The first row names the fields.")
    }
    let names = row.map { $0 ?? "" }
    for name in names where name != "id" && name != "container" && reader.type[name] == nil {
      let known = reader.type.fields.map(\.name).joined(separator: ", ")
      throw BothyError(
        .unknownField, "\(reader.type.name) has no field '\(name)'. Known: id, container, \(known).")
    }
    // A field may be called so too. `db export` writes the record's own container before the fields.
    let isField = reader.type["container"] != nil
    let places = names.indices.filter { names[$0] == "container" }
    containerColumn = places.count > (isField ? 1 : 0) ? places[0] : nil
    let columns = names.indices.filter { !isField || $0 != containerColumn }.map { names[$0] }
    if let twice = Dictionary(grouping: columns, by: \.self).first(where: { $1.count > 1 })?.key {
      throw ToolError("The column '\(twice)' is there twice. Leave one of them out.")
    }
    header = names
    return names
  }

  private func record(_ header: [String], _ cells: [String?]) throws -> AnyRecord {
    var record = AnyRecord(reader.type.name, container: reader.container)
    for (column, (name, cell)) in zip(header, cells).enumerated() {
      guard let cell else { continue }
      if column == containerColumn {
        if reader.container == nil { record.container = cell }
      } else if let field = reader.type[name] {
        record[name] = try reader.value(Self.json(cell, field), of: name)
      } else {
        record.id = cell
      }
    }
    return record
  }

  /// Returns the JSON value of a cell for its field. Text that isn't valid JSON stays text, and the field's check
  /// reports the error.
  static func json(_ cell: String, _ field: FieldSchema) -> JSONValue {
    switch field.kind {
    case .text, .uuid, .data, .reference: return .string(cell)
    case .bool where ["true", "false"].contains(cell.lowercased()): return .bool(cell.lowercased() == "true")
    case .coordinate:
      let parts = cell.split(separator: ",").map { Double($0.filter { !$0.isWhitespace }) }
      if parts.count == 2, let latitude = parts[0], let longitude = parts[1] {
        return ["lat": .double(latitude), "lon": .double(longitude)]
      }
    default: break
    }
    return (try? JSONValue(parsing: cell)) ?? .string(cell)  // text if it isn't JSON
  }
}
