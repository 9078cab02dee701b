import BothyStore
import BothySyncService

/// Queries over the records' fields.
///
/// Some conditions can't be decided in PostgreSQL as in Swift, so they are decided here. These are full-text
/// conditions, and the order of distances, which depends on the last bit of a number for places around a pole. It also
/// concerns a whole query if a document of the type has a text with a zero character. The reference evaluator then
/// decides the records that the rest of the condition selects.
extension PostgresTransaction {
  func query(
    _ query: AnyQuery, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    for entry in try found(query, schema, filter) { guard try body(entry) else { return } }
  }

  private func found(
    _ query: AnyQuery, _ schema: StoreSchema?, _ filter: VisibilityFilter?
  ) throws -> [StoredRecord] {
    var plan = try QueryPlan(query, schema)
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
    let plan = try QueryPlan(query, schema)
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
    var sql = try Self.select(columns, plan, plan.query.filter, &condition)
    if isSorted { sql += try Self.tail(plan.query, &condition) }
    var look = statement(StorageSQL.hasUncommon)
    look.bind(plan.query.type)
    let results = try connection.run(takeWaiting() + [look, condition.statement.saying(sql)])
    guard results.count >= 2, let rows = results.last else {
      throw PostgresFailure(message: "PostgreSQL gave no answer.")
    }
    return results[results.count - 2].bool(0, 0) ? nil : rows
  }

  /// Returns the SQL of the query, whose second parameter is the type. Each row's document is parsed once.
  private static func select(
    _ columns: String, _ plan: QueryPlan, _ filter: ConditionTree, _ condition: inout PostgresCondition
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
    let entries = Dictionary(found.map { ($0.record.id.id, $0) }, uniquingKeysWith: { $1 })
    let records = try found.map { entry in
      try watch?.check()
      return try AnyRecord(entry.record, plan.type)
    }
    return try plan.query.evaluate(over: records, schema: plan.type)
      .compactMap { entries[$0.id] }
  }
}

/// A query that fits its type, and its parts that PostgreSQL can decide.
private struct QueryPlan {
  let type: TypeSchema
  let query: AnyQuery
  /// The records that count; `nil` for all.
  var visible: VisibilityFilter?

  init(_ query: AnyQuery, _ schema: StoreSchema?) throws {
    let (type, query) = try query.resolved(in: schema)
    self.type = type
    self.query = try query.checked(for: type)
  }

  var isExact: Bool {
    PostgresCondition.isExact(query.filter) && query.order.allSatisfy { $0.origin == nil }
  }

  /// The conditions that every record of the answer meets.
  var exactParts: [ConditionTree] {
    let parts: [ConditionTree] = if case .and(let parts) = query.filter { parts } else { [query.filter] }
    return parts.filter(PostgresCondition.isExact)
  }
}

extension AnyRecord {
  /// Makes a record with the fields of the type. Fields of another kind count as null.
  fileprivate init(_ record: ServerRecord, _ type: TypeSchema) throws {
    self.init(record.id.type, id: record.id.id, container: record.container, version: record.version)
    origin.metadata = RecordMetadata(
      created: record.created, modified: record.modified, owner: record.owner)
    for (name, json) in try record.fields.members() {
      guard let kind = type[name]?.kind else { continue }
      // A value of another kind counts as null.
      self[name] = (try? FieldValue(json: json, kind: kind)) ?? .null
    }
  }
}
