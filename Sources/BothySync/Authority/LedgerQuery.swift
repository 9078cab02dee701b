import BothyStore

/// The SQL of a query over a ledger's records, whose fields are one JSON document.
enum LedgerQuery {
  /// Parameter 1 is the space; the returned arguments follow from parameter 2 on.
  static func select(
    _ query: RecordQuery, schema: Schema?, columns: String
  ) throws -> (sql: String, arguments: [FieldValue]) {
    throw StoreError(.invalidQuery, "Queries are not built yet.")
  }
}
