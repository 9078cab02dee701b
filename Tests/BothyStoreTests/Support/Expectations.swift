import BothyStore
import Testing

/// Expects `body` to throw a `BothyError` with `code`.
func expect(
  _ code: BothyError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  let error = #expect(throws: BothyError.self, sourceLocation: sourceLocation) { try body() }
  #expect(error?.code == code, "\(String(reflecting: error))", sourceLocation: sourceLocation)
}

extension LocalStore {
  /// Runs SQL without the store's knowledge.
  func tamper(_ sql: String) throws {
    try write { try PreparedStatement(sql, in: $0.database).run() }
  }

  /// Returns SQLite's plan of a query, a step a line.
  func plan(_ query: AnyQuery) throws -> String {
    try read { transaction in
      let table = try transaction.catalog.table(query.type)
      let tail = try QueryCompiler(table.schema, TableColumns(table.schema)).tail(query)
      let select = try PreparedStatement(
        unkept: "EXPLAIN QUERY PLAN SELECT _id FROM \(table.name)\(tail.sql)", in: transaction.database)
      select.bind(tail.arguments)
      var lines: [String] = []
      while try select.step() { lines.append(select.text(at: 3) ?? "") }
      return lines.joined(separator: "\n")
    }
  }

  func count(_ sql: String) throws -> Int64 {
    try read { transaction in
      let select = try PreparedStatement(sql, in: transaction.database)
      defer { select.reset() }
      return try select.step() ? select.int(at: 0) : 0
    }
  }
}
