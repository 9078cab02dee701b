import ArgumentParser
import BothyPacks
import BothyStore
import Foundation

/// The formats of the rows of a pack.
enum PackFormat: String, CaseIterable, ExpressibleByArgument {
  case csv, json, jsonl, sqlite

  /// Creates the format of a file extension, or `nil` if it isn't known.
  init?(fileName: String) {
    switch fileName.split(separator: ".").last.map({ $0.lowercased() }) {
    case "csv": self = .csv
    case "json": self = .json
    case "jsonl", "ndjson": self = .jsonl
    case "sqlite", "sqlite3", "db": self = .sqlite
    default: return nil
    }
  }
}

/// One file of rows. It is read several times: first to infer the kinds of its columns, then to add its rows.
struct PackInput {
  let type: String
  let path: String
  let format: PackFormat
  let table: String?

  /// Parses `[Type=]FILE`. Without a type, the name of the file is the type.
  init(_ argument: String, format: PackFormat?, table: String?) throws {
    let parts = argument.split(separator: "=", maxSplits: 1).map { String($0) }
    let hasType = parts.count == 2 && !parts[0].contains("/") && !parts[0].contains(".")
    path = hasType ? parts[1] : argument
    let name = path.split(separator: "/").last?.split(separator: ".").first.map { String($0) }
    type = hasType ? parts[0] : ColumnName.identifier(name ?? "Row")
    guard let format = format ?? PackFormat(fileName: path) else {
      throw ToolError(
        "What \(path) is can't be seen by its name. Say it with --format csv, json, jsonl or sqlite.")
    }
    guard FileManager.default.fileExists(atPath: path) else {
      throw ToolError("The file \(path) does not exist. Check the path.")
    }
    self.format = format
    self.table = table
  }

  /// True if values are texts that may represent numbers and other kinds.
  var isText: Bool { format == .csv }

  /// Runs `body` with each row. Adds the position of the row to errors.
  func forEach(_ body: (InputRow) throws -> Void) throws {
    switch format {
    case .csv: try forEachInCSV(body)
    case .jsonl:
      let lines = try LineReader(path)
      while let line = try lines.next() {
        if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
        try located("Line \(lines.line)") { try body(Self.row(try Self.parse(line))) }
      }
    case .json:
      let bytes = try StandardStreams.read(path).afterByteOrderMark()
      let document = try located("The file") { try Self.parse(Array(bytes)) }
      guard let elements = document.arrayValue ?? document["records"]?.arrayValue else {
        throw ToolError(
          "\(path) must hold a JSON array of records. For one record a line use --format jsonl.")
      }
      for (index, element) in elements.enumerated() {
        try located("Record \(index + 1)") { try body(Self.row(element)) }
      }
    case .sqlite:
      var number = 0
      try TableRows(path, table: table).forEach { row in
        number += 1
        try located("Row \(number)") { try body(row) }
      }
    }
  }

  private func forEachInCSV(_ body: (InputRow) throws -> Void) throws {
    let rows = CSVReader(try LineReader(path))
    guard let header = try located("Line 1", { try rows.next() })?.map({ $0 ?? "" }) else {
      throw ToolError("\(path) is empty. The first row names the columns.")
    }
    while let cells = try located("Line \(rows.line + 1)", { try rows.next() }) {
      if cells == [nil] { continue }
      try located("Line \(rows.line)") {
        guard cells.count == header.count else {
          throw ToolError(
            "The row has \(cells.count) cells, the header \(header.count). Quote cells that hold commas.")
        }
        try body(zip(header, cells).map { (name: $0, value: $1.map { .string($0) } ?? .null) })
      }
    }
  }

  private func located<Result>(_ place: @autoclosure () -> String, _ body: () throws -> Result) throws
    -> Result
  {
    do { return try body() } catch let error as CancellationError { throw error } catch {
      throw ToolError("\(path): \(place()): \(ErrorMessage(error).sentence)")
    }
  }

  private static func parse(_ bytes: [UInt8]) throws -> JSONValue {
    do { return try JSONValue(parsing: bytes) } catch { throw ToolError("It is not JSON. \(error)") }
  }

  /// Returns the members in the order of their names, as JSON objects have no order.
  private static func row(_ json: JSONValue) throws -> InputRow {
    guard let members = json.objectValue else {
      throw ToolError("A record is a JSON object, such as {\"title\": …}.")
    }
    return members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}

/// Converts names of columns to names of fields.
enum ColumnName {
  /// Returns letters, digits and `_`, a letter first. Replaces all other characters by `_`.
  static func identifier(_ name: String) -> String {
    let safe = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    return safe.first?.isLetter == true ? safe : "c_" + String(safe.drop { $0 == "_" })
  }
}
