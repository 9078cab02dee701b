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

  func count(_ sql: String) throws -> Int64 {
    try read { transaction in
      let select = try PreparedStatement(sql, in: transaction.database)
      defer { select.reset() }
      return try select.step() ? select.int(at: 0) : 0
    }
  }
}
