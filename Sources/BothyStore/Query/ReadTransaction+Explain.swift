import GRDB
internal import GRDBSQLite

extension ReadTransaction {
  /// Fetches what a request describes, and returns how SQLite read it, as text for people.
  ///
  /// ```swift
  /// print(try await store.read { try $0.explain(Todo.where { !$0.done }.order(by: \.due)) })
  /// ```
  ///
  /// For each statement the text has its SQL with values, SQLite's plan, and the number of records that a scan visited. A
  /// plan with `SEARCH` uses an index, one with `SCAN` reads all records, and `TEMP B-TREE` sorts. The text has content of
  /// records, so don't log it in an app. Costs the fetch itself, and a look at the plan of each statement. Throws as
  /// `fetch(_:)`.
  public final func explain<R: ReadRequest>(_ request: R) throws -> String {
    try explained { _ = try fetch(request) }.map(\.description).joined(separator: "\n")
  }

  /// Runs `body` and returns the queries that it ran, in order. Queries of equal text are one.
  package final func explained(_ body: () throws -> Void) throws -> [ExplainedStatement] {
    let trace = StatementTrace()
    try trace.follow(database, body)
    return trace.statements.map { found in
      var statement = found
      // SQLite can't write a value with a zero character as text. The SQL and the numbers are enough then.
      statement.plan = (try? plan(of: found.sql)) ?? []
      return statement
    }
  }

  /// Returns the steps of SQLite's plan, with two spaces before a step that is part of another.
  private func plan(of sql: String) throws -> [String] {
    let select = try PreparedStatement(unkept: "EXPLAIN QUERY PLAN \(sql)", in: database)
    defer { select.reset() }
    var depths: [Int64: Int] = [:]
    var steps: [String] = []
    while try select.step() {
      let depth = depths[select.int(at: 1)].map { $0 + 1 } ?? 0
      depths[select.int(at: 0)] = depth
      steps.append(String(repeating: "  ", count: depth) + (select.text(at: 3) ?? ""))
    }
    return steps
  }
}

/// A query as SQLite ran it.
package struct ExplainedStatement: Sendable, Hashable, CustomStringConvertible {
  /// The SQL with the values of the first run.
  package let sql: String
  /// SQLite's plan, a step a line.
  package internal(set) var plan: [String] = []
  /// The number of runs.
  package internal(set) var runs = 0
  /// The number of rows that all runs visited without an index of the condition.
  package internal(set) var scanned = 0

  /// The SQL, and below it the plan and the numbers.
  package var description: String {
    let numbers = "\(runs) \(runs == 1 ? "run" : "runs"), \(scanned) records visited by scans"
    return ([sql] + (plan + [numbers]).map { "  " + $0 }).joined(separator: "\n")
  }

  /// Writes `sql, plan, runs, scanned`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("sql", sql)
    writer.member("plan", .array(plan.map { .string($0) }))
    writer.member("runs", runs)
    writer.member("scanned", scanned)
  }
}

/// The queries that a connection runs while it is followed. Used on the connection's queue alone.
private final class StatementTrace {
  private(set) var statements: [ExplainedStatement] = []
  /// The positions of the statements by their text without values.
  private var positions: [String: Int] = [:]
  /// SQLite's counts of the statements that run, at their start.
  private var starts: [OpaquePointer: Int] = [:]

  func follow(_ database: Database, _ body: () throws -> Void) throws {
    let connection = database.sqliteConnection
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
      { event, context, statement, _ in
        guard let context, let statement else { return 0 }
        let trace = Unmanaged<StatementTrace>.fromOpaque(context).takeUnretainedValue()
        trace.note(OpaquePointer(statement), isEnd: event == UInt32(SQLITE_TRACE_PROFILE))
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
    defer { sqlite3_trace_v2(connection, 0, nil, nil) }
    try body()
  }

  private func note(_ pointer: OpaquePointer, isEnd: Bool) {
    let statement = PreparedStatement(kept: pointer)
    let count = statement.scanSteps(resetting: false)
    guard isEnd else { return starts[pointer] = count }
    guard let start = starts.removeValue(forKey: pointer), let text = statement.sql,
      // The tables behind an index have statements of their own.
      sqlite3_stmt_readonly(pointer) != 0, text.hasPrefix("SELECT") || text.hasPrefix("WITH"),
      !text.contains("'main'.")
    else { return }
    if positions[text] == nil {
      positions[text] = statements.count
      statements.append(ExplainedStatement(sql: statement.expandedSQL ?? text))
    }
    guard let position = positions[text] else { return }
    statements[position].runs += 1
    // SQLite counts the steps from one row to the next.
    if count > start { statements[position].scanned += count - start + 1 }
  }
}

extension PreparedStatement {
  /// The text without values.
  var sql: String? { sqlite3_sql(pointer).map { Self.shown(String(cString: $0)) } }

  /// The text with the bound values, or nil if it is longer than SQLite allows.
  fileprivate var expandedSQL: String? {
    guard let text = sqlite3_expanded_sql(pointer) else { return nil }
    defer { sqlite3_free(text) }
    return Self.shown(String(cString: text))
  }

  private static func shown(_ sql: String) -> String {
    sql.hasSuffix(queryMark) ? String(sql.dropLast(queryMark.count)) : sql
  }

  /// The number of steps from row to row without an index of the condition, since the statement was prepared or last
  /// reset so.
  func scanSteps(resetting: Bool) -> Int {
    Int(sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_FULLSCAN_STEP, resetting ? 1 : 0))
  }
}
