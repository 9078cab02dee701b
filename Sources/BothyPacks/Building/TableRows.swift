internal import BothyStore
internal import Foundation
internal import GRDB

/// A row of any input: values by column name, in the order of the columns.
package typealias InputRow = [(name: String, value: JSONValue)]

/// The rows of a table in a SQLite file, in the order of the table. The file is only read.
package struct TableRows: Sendable {
  private let path: String
  private let table: String

  /// Opens a table. Throws `BothyError` `invalidInput` if it doesn't exist, or if `table` is `nil` and the file has
  /// several.
  package init(_ path: String, table: String?) throws {
    self.path = path
    let tables = try Self.open(path).inDatabase { database in
      try String.fetchAll(
        database,
        sql:
          "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
      )
    }
    guard let found = table ?? (tables.count == 1 ? tables[0] : nil), tables.contains(found) else {
      throw BothyError(
        .invalidInput,
        "Say with --table which table of \(path) is meant: \(tables.joined(separator: ", ")).")
    }
    self.table = found
  }

  /// Runs `body` with each row. Data is encoded as base64 text.
  package func forEach(_ body: (InputRow) throws -> Void) throws {
    try Self.open(path).inDatabase { database in
      let rows = try Row.fetchCursor(database, sql: "SELECT * FROM \(table.quotedIdentifier)")
      while let row = try rows.next() {
        try body(row.map { (name: $0.0, value: Self.json($0.1)) })
      }
    }
  }

  private static func json(_ value: DatabaseValue) -> JSONValue {
    switch value.storage {
    case .null: .null
    case .int64(let number): .int(number)
    case .double(let number): .double(number)
    case .string(let text): .string(text)
    case .blob(let data): .string(data.base64EncodedString())
    }
  }

  private static func open(_ path: String) throws -> DatabaseQueue {
    guard FileManager.default.fileExists(atPath: path) else {
      throw BothyError(.invalidInput, "No file exists at \(path). Check the path.")
    }
    var configuration = Configuration()
    configuration.readonly = true
    do { return try DatabaseQueue(path: path, configuration: configuration) } catch {
      throw BothyError(error, path: path)
    }
  }
}
