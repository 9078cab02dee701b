import BothyStore
import BothySyncService

/// Queries over the records' fields.
///
/// Some conditions can't be decided in PostgreSQL as in Swift, so they are decided here. These are full-text
/// conditions, the natural order of texts, and the order of distances, which depends on the last bit of a number for
/// places around a pole. It also
/// concerns a whole query if a document of the type has a text with a zero character. The reference evaluator then
/// decides the records that the rest of the condition selects.
extension PostgresTransaction {
  func query(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    for entry in try found(query, after, schema, filter) { guard try body(entry) else { return } }
  }

  private func found(
    _ query: AnyQuery, _ after: AnyRecord?, _ schema: StoreSchema?, _ filter: VisibilityFilter?
  ) throws -> [StoredRecord] {
    var plan = try QueryPlan(query, after: after, schema)
    plan.visible = filter
    guard plan.isExact else { return try evaluate(plan) }
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let rows = try decide(plan, condition, StorageSQL.columns, isSorted: true)
    return try rows.map { try records($0) } ?? evaluate(plan)
  }

  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int {
    var query = query
    query.limit = nil
    query.offset = 0
    query.order = []
    let plan = try QueryPlan(query, after: nil, schema)
    guard plan.isExact else { return try evaluate(plan).count }
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let rows = try decide(plan, condition, "count(*)", isSorted: false)
    return try rows.map { Int($0.int(0, 0)) } ?? evaluate(plan).count
  }

  /// Returns the rows of a query, or `nil` if a document of the type doesn't fit in `jsonb`. Uses one round trip.
  private func decide(
    _ plan: QueryPlan, _ start: PostgresCondition, _ columns: String, isSorted: Bool
  ) throws -> PostgresResult? {
    var condition = start
    var sql = try Self.select(columns, plan, plan.query.filter, &condition, after: plan.after)
    if let rest = plan.rest { sql += " AND \(try condition.sql(rest))" }
    if isSorted { sql += try Self.tail(plan.query, &condition) }
    var look = statement(StorageSQL.hasUncommon)
    look.bind(plan.query.type)
    let results = try connection.run(takeWaiting() + [look, condition.statement.saying(sql)])
    guard results.count >= 2, let rows = results.last else {
      throw PostgresFailure(message: "PostgreSQL gave no answer.")
    }
    return results[results.count - 2].bool(0, 0) ? nil : rows
  }

  /// Returns the SQL of the query, whose second parameter is the type. Each row's document is parsed once, or not at
  /// all if the condition and the order don't need it.
  private static func select(
    _ columns: String, _ plan: QueryPlan, _ filter: ConditionTree, _ condition: inout PostgresCondition,
    after: AnyRecord? = nil
  ) throws -> String {
    let query = plan.query
    var sql = """
      SELECT \(columns) FROM (
        SELECT \(StorageSQL.columns), fields::jsonb AS d FROM record
        WHERE space = $1 AND type = $2 AND NOT deleted AND plain
      """
    if let container = query.container, !(container.isEmpty && query.includesChildren) {
      condition.bind(container)
      let path = "$\(condition.statement.parameterCount)"
      sql += " AND (container = \(path)"
      if query.includesChildren {
        sql += " OR (container >= \(path) || '/' AND container < \(path) || '0')"
      }
      sql += ")"
    }
    sql += condition.visible(plan.visible)
    if let after, query.totalOrder == [SortKey("id")] {
      condition.bind(after.id)
      sql += " AND id > $\(condition.statement.parameterCount)"
    }
    // OFFSET 0 keeps the planner from repeating the parse in every place where `d` is used.
    return sql + " OFFSET 0) AS found WHERE \(try condition.sql(filter))"
  }

  private static func tail(_ query: AnyQuery, _ condition: inout PostgresCondition) throws -> String {
    var keys: [String] = []
    for key in query.totalOrder {
      keys.append(try condition.expression(key.field) + (key.ascending ? " NULLS FIRST" : " DESC NULLS LAST"))
    }
    var sql = " ORDER BY " + keys.joined(separator: ", ")
    if let limit = query.limit {
      condition.bind(Int64(limit))
      sql += " LIMIT $\(condition.statement.parameterCount)"
    }
    if query.offset > 0 {
      condition.bind(Int64(query.offset))
      sql += " OFFSET $\(condition.statement.parameterCount)"
    }
    return sql
  }

  private func evaluate(_ plan: QueryPlan) throws -> [StoredRecord] {
    var look = statement(StorageSQL.hasUncommon)
    look.bind(plan.query.type)
    let isUncommon = try read(look).bool(0, 0)
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let sql =
      isUncommon
      ? "SELECT \(StorageSQL.columns) FROM record WHERE space = $1 AND type = $2 AND NOT deleted"
        + condition.visible(plan.visible)
      : try Self.select(StorageSQL.columns, plan, .and(plan.exactParts), &condition)
    let found = try records(try read(condition.statement.saying(sql)))
    let entries = Dictionary(found.map { ($0.record.id, $0) }, uniquingKeysWith: { $1 })
    let records = try found.map { entry in
      try watch?.check()
      return AnyRecord(entry.record, try entry.record.fields.members(), plan.type)
    }
    let order = plan.query.totalOrder
    let rest = records.filter { plan.after?.precedes($0, by: order, plan.type) ?? true }
    return try plan.query.evaluate(over: rest, schema: plan.type)
      .compactMap { entries[$0.recordID] }
  }
}

/// A query that fits its type, and its parts that PostgreSQL can decide.
private struct QueryPlan {
  let type: TypeSchema
  let query: AnyQuery
  /// The records that count; `nil` for all.
  var visible: VisibilityFilter?
  /// The record in whose place the answer begins.
  let after: AnyRecord?
  /// The condition of the records after it, or `nil` if the answer begins at the first.
  let rest: ConditionTree?

  init(_ query: AnyQuery, after: AnyRecord?, _ schema: StoreSchema?) throws {
    let (type, query) = try query.resolved(in: schema)
    self.type = type
    self.query = try query.checked(for: type)
    self.after = after
    rest = try after.map { try query.condition(after: $0, type).checked(for: type) }
  }

  var isExact: Bool {
    PostgresCondition.isExact(query.filter) && query.order.allSatisfy { $0.origin == nil && !$0.isNatural }
      && rest.map(PostgresCondition.isExact) ?? true
  }

  /// The conditions that every record of the answer meets.
  var exactParts: [ConditionTree] {
    let parts: [ConditionTree] = if case .and(let parts) = query.filter { parts } else { [query.filter] }
    return parts.filter(PostgresCondition.isExact)
  }
}
