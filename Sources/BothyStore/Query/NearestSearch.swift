/// Finds the distance that includes all requested records, so that a query by distance need not measure every record.
///
/// The result is that of the query with a circle added to its condition. The query itself still decides which records
/// match, and in which order. A circle may be too large, which costs time, but never too small.
struct NearestSearch {
  /// The number of index entries after which the search stops, because measuring every record then costs no more.
  private static let budget = 16_384
  /// The greatest number of records for which a place condition makes the search unnecessary.
  private static let few = 1_000
  /// The precision of the index in metres. It has places to 5 metres, because its numbers have 32 bits and are rounded
  /// outward.
  private static let precision = 10.0

  private let query: AnyQuery
  private let table: TypeTable
  private let transaction: ReadTransaction

  /// Returns the query with a circle added. Returns it unchanged if the search can't help: no limit, another order, a
  /// field without an index, too few records.
  ///
  /// Reads as many entries of the R-tree as are requested and, with a condition, the rows that the condition excludes.
  static func narrowed(
    _ query: AnyQuery, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> AnyQuery {
    guard let key = query.order.first, let origin = key.origin, key.ascending, let limit = query.limit,
      limit > 0, query.offset >= 0, let field = table.schema[key.field],
      let index = PlaceIndex(field, of: table.schema)
    else { return query }
    let (wanted, isTooMany) = limit.addingReportingOverflow(query.offset)
    guard !isTooMany, wanted < budget else { return query }
    let search = NearestSearch(
      query: try query.checked(for: table.schema), table: table, transaction: transaction)
    guard try !search.isBounded(),
      let metres = try search.reach(wanted, from: origin, field, index)
    else { return query }
    var narrowed = query
    narrowed.filter = query.filter && .near(field: field.name, centre: origin, metres: metres)
    return narrowed
  }

  /// True if a place condition that all records must meet leaves few of them.
  private func isBounded() throws -> Bool {
    let conditions: [ConditionTree] = if case .and(let parts) = query.filter { parts } else { [query.filter] }
    for condition in conditions {
      let bounds: (field: String, box: GeoBox)? =
        switch condition {
        case .near(let field, let centre, let metres): (field, GeoBox(around: centre, metres: metres))
        case .inside(let field, let box): (field, box)
        default: nil
        }
      guard let bounds, let field = table.schema[bounds.field],
        let index = PlaceIndex(field, of: table.schema)
      else { continue }
      let rows = index.rows(in: bounds.box)
      let count = try PreparedStatement(
        query: "SELECT count(*) FROM (SELECT 1 FROM \(table.name) WHERE \(rows.sql) LIMIT \(Self.few + 1))",
        in: transaction.database)
      count.bind(rows.arguments)
      defer { count.reset() }
      if try count.step(), count.int(at: 0) <= Self.few { return true }
    }
    return false
  }

  /// Returns the radius in metres that contains the wanted number of records. Nil if the search exceeds its budget.
  private func reach(
    _ wanted: Int, from origin: Coordinate, _ field: FieldSchema, _ index: PlaceIndex
  ) throws -> Double? {
    let filter = try QueryCompiler(table.schema, TableColumns(table.schema)).filter(query)
    let isAccepted =
      filter.sql == "TRUE"
      ? "1" : "EXISTS (SELECT 1 FROM \(table.name) WHERE rowid = bothy_entry.place AND (\(filter.sql)))"
    // No type has the name of the entry, so none hides it.
    let statement = try PreparedStatement(
      query: "SELECT bothy_entry.south, bothy_entry.west, \(isAccepted) "
        + "FROM \(index.identifier) AS bothy_entry WHERE bothy_entry.place MATCH bothy_nearest(?, ?)",
      in: transaction.database)
    statement.bind(
      filter.arguments + [.double(origin.latitude), .double(origin.longitude)])
    defer { statement.reset() }
    var (found, metres) = (0, 0.0)
    for _ in 0..<Self.budget {
      guard try statement.step() else { return nil }
      if statement.int(at: 2) == 0 { continue }
      let entry = Coordinate(latitude: statement.double(at: 0), longitude: statement.double(at: 1))
      metres = max(metres, entry.distance(to: origin))
      found += 1
      if found == wanted { return metres + Self.precision }
    }
    return nil
  }
}
