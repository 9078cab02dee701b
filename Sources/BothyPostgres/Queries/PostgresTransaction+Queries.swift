import BothyStore
import BothySyncService

/// Queries over the records' fields.
///
/// Some conditions can't be decided in PostgreSQL as in Swift, so they are decided here. These are full-text
/// conditions, the natural order of texts, and the order of distances, which depends on the last bit of a number for
/// places around a pole. It also concerns a whole query if a document of the type has a text with a zero character. The
/// reference evaluator then decides the records that the rest of the condition selects. Records are read in pieces, and
/// few wait for their turn.
extension PostgresTransaction {
  func query(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    var plan = try QueryPlan(query, after: after, schema)
    plan.visible = filter
    if plan.isExact,
      try visit(decision(of: plan, StorageSQL.columns, isSorted: true), unless: look(for: plan), body)
    {
      return
    }
    try evaluate(plan, body)
  }

  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int {
    var query = query
    query.limit = nil
    query.offset = 0
    query.order = []
    let plan = try QueryPlan(query, after: nil, schema)
    if plan.isExact {
      let count = try decision(of: plan, "count(*)", isSorted: false)
      let results = try connection.run(takeWaiting() + [look(for: plan), count])
      guard results.count >= 2, let rows = results.last else {
        throw PostgresFailure(message: "PostgreSQL gave no answer.")
      }
      if !results[results.count - 2].bool(0, 0) { return Int(rows.int(0, 0)) }
    }
    var count = 0
    try scan(plan) { _ in
      count += 1
      return true
    }
    return count
  }

  /// Returns the statement of a query that PostgreSQL decides.
  private func decision(
    of plan: QueryPlan, _ columns: String, isSorted: Bool
  ) throws -> PostgresStatement {
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    var sql = try Self.select(columns, plan, plan.query.filter, &condition, after: plan.after)
    if let rest = plan.rest { sql += " AND \(try condition.sql(rest))" }
    if isSorted { sql += try Self.tail(plan.query, &condition) }
    return condition.statement.saying(sql)
  }

  /// Returns the statement that finds out if a document of the type doesn't fit in `jsonb`.
  private func look(for plan: QueryPlan) -> PostgresStatement {
    var look = statement(StorageSQL.hasUncommon)
    look.bind(plan.query.type)
    return look
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

  /// The most records that wait for their turn while the evaluator reads those of a type. For more it reads them again.
  private static let waitingLimit = 20_000

  /// Visits the records of a query by the evaluator.
  private func evaluate(_ plan: QueryPlan, _ body: (StoredRecord) throws -> Bool) throws {
    let query = plan.query
    var (after, passed, left) = (plan.after, query.offset, query.limit ?? .max)
    func pass(_ match: SelectionMatch) throws -> Bool {
      if passed > 0 {
        passed -= 1
        return true
      }
      left -= 1
      return try body(try match.whole(in: self)) && left > 0
    }
    if query.isUnordered, query.order.isEmpty, after == nil {
      if left > 0 { try scan(plan) { try pass($0) } }
      return
    }
    while left > 0 {
      let (found, isCut) = try first(
        min(passed.addingClamped(left), Self.waitingLimit), of: plan, after: after)
      for match in found { guard try pass(match) else { return } }
      guard isCut, let last = found.last else { return }
      after = last.record
    }
  }

  /// Returns the first records of a query in its order, at most `most` of them and fewer if their sort keys are large.
  /// `isCut` is true if others follow.
  private func first(
    _ most: Int, of plan: QueryPlan, after: AnyRecord?
  ) throws -> (found: [SelectionMatch], isCut: Bool) {
    let order = plan.query.totalOrder
    var (found, room) = ([SelectionMatch](), MatchRoom(order))
    var (most, isCut) = (most, false)
    // The last record that counts.
    var bound: AnyRecord?
    func cut() {
      found.sort { $0.record.precedes($1.record, by: order, plan.type) }
      repeat {
        if room.isFull { most = max(1, most / 2) }
        if found.count > most {
          found.removeLast(found.count - most)
          isCut = true
        }
        room = MatchRoom(order)
        for index in found.indices { found[index] = room.kept(found[index]) }
      } while room.isFull && found.count > 1
      bound = found.count == most ? found.last?.record : nil
    }
    try scan(plan) { match in
      if let after, !after.precedes(match.record, by: order, plan.type) { return true }
      if let bound, !match.record.precedes(bound, by: order, plan.type) {
        isCut = true
        return true
      }
      found.append(room.kept(match))
      if found.count >= 2 * most || room.isFull { cut() }
      return true
    }
    cut()
    return (found, isCut)
  }

  /// Calls `body` with the records that a query selects, in any order and by the evaluator, until it returns false. What
  /// the sort keys compute is noted in the records.
  private func scan(_ plan: QueryPlan, _ body: (SelectionMatch) throws -> Bool) throws {
    let isUncommon = try read(look(for: plan)).bool(0, 0)
    var condition = PostgresCondition(plan.type, statement(""))
    condition.bind(plan.query.type)
    let sql =
      isUncommon
      ? "SELECT \(StorageSQL.columns) FROM record WHERE space = $1 AND type = $2 AND NOT deleted"
        + condition.visible(plan.visible)
      : try Self.select(StorageSQL.columns, plan, .and(plan.exactParts), &condition)
    let order = plan.query.totalOrder
    try visit(condition.statement.saying(sql)) { entry in
      var record = AnyRecord(entry.record, try entry.record.fields.members(), plan.type)
      guard plan.query.holds(record, plan.type) else { return true }
      record.noteSortKeys(order, plan.type)
      return try body(SelectionMatch(entry, record))
    }
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
