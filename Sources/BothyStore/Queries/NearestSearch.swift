/// Finds how far the records that are asked for in the order of their distance can be, so that the query need not
/// measure all of them.
///
/// The answer is that of the query with a circle added to its condition: which records are in it, and in which order,
/// is decided as ever. A circle too large costs time, none is too small.
struct NearestSearch {
  /// After so many entries of the index that the condition refuses, measuring every record is no worse.
  private static let budget = 16_384
  /// A place condition that leaves so few records needs no search.
  private static let few = 1_000
  /// The index has places to 5 metres: its numbers have 32 bits and are rounded outward.
  private static let precision = 10.0

  private let query: AnyQuery
  private let table: TypeTable
  private let transaction: ReadTransaction

  /// The query itself where the search can't help: no limit, another order, a field without an index, fewer records
  /// than asked for.
  ///
  /// Reads as many entries of the R-tree as are asked for and, with a condition, the rows of those it refuses.
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

  /// Whether a place condition that all records must meet leaves few of them.
  private func isBounded() throws -> Bool {
    let conditions: [Condition] = if case .and(let parts) = query.filter { parts } else { [query.filter] }
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

  /// The metres within which so many records are that the condition accepts; nil where that is not found out within
  /// the budget.
  private func reach(
    _ wanted: Int, from origin: Coordinate, _ field: FieldSchema, _ index: PlaceIndex
  ) throws -> Double? {
    let filter = try QueryCompiler(table.schema, TableColumns(table.schema)).filter(query)
    let isAccepted =
      filter.sql == "TRUE"
      ? "1" : "EXISTS (SELECT 1 FROM \(table.name) WHERE rowid = entry.place AND (\(filter.sql)))"
    let statement = try PreparedStatement(
      query: "SELECT entry.south, entry.west, \(isAccepted) FROM \(index.identifier) AS entry "
        + "WHERE entry.place MATCH bothy_nearest(?, ?)",
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
