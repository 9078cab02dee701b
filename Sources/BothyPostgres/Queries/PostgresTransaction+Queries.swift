import BothyStore
import BothySyncService

/// Queries over the records' fields.
///
/// What PostgreSQL cannot decide as Swift does is decided here: full-text conditions, the order of distances, which the
/// last bit of a number decides among places around a pole, and all of a query where a document of the type has a text
/// with a zero character. Then the records that the rest of the condition leaves are read and the reference evaluator
/// answers.
extension PostgresTransaction {
  func query(_ query: AnyQuery, schema: StoreSchema?, _ body: (LedgerRecord) throws -> Bool) throws {
    for entry in try found(query, schema) { guard try body(entry) else { return } }
  }

  private func found(_ query: AnyQuery, _ schema: StoreSchema?) throws -> [LedgerRecord] {
    let plan = try QueryPlan(query, schema)
    guard plan.isExact else { return try evaluate(plan) }
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let rows = try decide(plan, condition, LedgerSQL.columns, isSorted: true)
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

  /// The rows of a query; nil where a document of the type is not what `jsonb` can hold. One round trip.
  private func decide(
    _ plan: QueryPlan, _ start: PostgresCondition, _ columns: String, isSorted: Bool
  ) throws -> PostgresResult? {
    var condition = start
    var sql = try Self.select(columns, plan.query, plan.query.filter, &condition)
    if isSorted { sql += try Self.tail(plan.query, &condition) }
    var look = statement(LedgerSQL.hasUncommon)
    look.bind(plan.query.type)
    let results = try connection.run(takeWaiting() + [look, condition.statement.saying(sql)])
    guard results.count >= 2, let rows = results.last else {
      throw PostgresFailure(message: "PostgreSQL gave no answer.")
    }
    return results[results.count - 2].bool(0, 0) ? nil : rows
  }

  /// The second parameter is the type. The documents are parsed once for each row.
  private static func select(
    _ columns: String, _ query: AnyQuery, _ filter: Condition, _ condition: inout PostgresCondition
  ) throws -> String {
    var sql = """
      SELECT \(columns) FROM (
        SELECT \(LedgerSQL.columns), fields::jsonb AS d FROM record
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
    // OFFSET 0 keeps the planner from writing the parse into every place where `d` is used.
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

  private func evaluate(_ plan: QueryPlan) throws -> [LedgerRecord] {
    var look = statement(LedgerSQL.hasUncommon)
    look.bind(plan.query.type)
    let isUncommon = try read(look).bool(0, 0)
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let sql =
      isUncommon
      ? "SELECT \(LedgerSQL.columns) FROM record WHERE space = $1 AND type = $2 AND NOT deleted"
      : try Self.select(LedgerSQL.columns, plan.query, .and(plan.exactParts), &condition)
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

/// A query that fits its type, and which parts of it PostgreSQL can decide.
private struct QueryPlan {
  let type: TypeSchema
  let query: AnyQuery

  init(_ query: AnyQuery, _ schema: StoreSchema?) throws {
    let (type, query) = try query.resolved(in: schema)
    self.type = type
    self.query = try query.checked(for: type)
  }

  var isExact: Bool {
    PostgresCondition.isExact(query.filter) && query.order.allSatisfy { $0.origin == nil }
  }

  /// Conditions that every record of the answer meets.
  var exactParts: [Condition] {
    let parts: [Condition] = if case .and(let parts) = query.filter { parts } else { [query.filter] }
    return parts.filter(PostgresCondition.isExact)
  }
}

extension AnyRecord {
  /// The fields as they are of the type; those of another kind count as null.
  fileprivate init(_ record: ServerRecord, _ type: TypeSchema) throws {
    self.init(record.id.type, id: record.id.id, container: record.container, version: record.version)
    origin.metadata = RecordMetadata(
      created: record.created, modified: record.modified, owner: record.owner)
    for (name, json) in try record.fields.members() {
      guard let kind = type[name]?.kind else { continue }
      // Not of the kind: null.
      self[name] = (try? FieldValue(json: json, kind: kind)) ?? .null
    }
  }
}
