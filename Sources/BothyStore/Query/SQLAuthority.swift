import GRDB
internal import GRDBSQLite
import Synchronization

/// The decision whether SQL of an app may run, and the tables and columns that it reads, both by SQLite's authorizer.
///
/// The SQL is prepared on an empty copy of the types' tables in memory, where only the authorizer sees it. SQLite drops
/// the statements of a connection whenever its authorizer changes, so the connections of the store keep theirs. The copy
/// lacks the store's own tables, so SQL that names one is refused.
final class SQLAuthority: Sendable {
  /// A table that SQL may read.
  enum Table: Sendable {
    case type(TypeTable)
    /// An index beside the tables of these types, or a function of JSON, which depends on none.
    case index([Int])
  }

  private struct State {
    var copy: DatabaseQueue?
    /// The fields that accepted SQL reads, by the positions of the types.
    var known: [String: [Int: FieldSet]] = [:]
  }

  /// The number of texts whose decisions are kept.
  private static let limit = 256

  private let types: [TypeTable]
  private let tables: [String: Table]
  private let state = Mutex(State())

  init(_ types: [TypeTable]) {
    self.types = types
    var tables: [String: Table] = ["json_each": .index([]), "json_tree": .index([])]
    tables["bothy_link"] = .index(types.filter(\.hasListReferences).map(\.index))
    for type in types {
      tables[type.schema.name.lowercased()] = .type(type)
      if type.schema.hasFullText {
        tables["bothy_fts_\(type.schema.name)".lowercased()] = .index([type.index])
      }
      for place in type.schema.placeIndexes { tables[place.name.lowercased()] = .index([type.index]) }
    }
    self.tables = tables
  }

  /// Returns the fields that the SQL reads, by the positions of the types. Throws `BothyError` `invalidQuery` for SQL
  /// that does not fit the schema, writes, or reaches beyond the tables. Costs a look-up for SQL that was accepted before.
  @discardableResult
  func reads(_ sql: String) throws -> [Int: FieldSet] {
    try state.withLock { state in
      if let known = state.known[sql] { return known }
      let copy = try state.copy ?? emptyCopy()
      state.copy = copy
      let reads = try copy.inDatabase { try decide(sql, in: $0) }
      if state.known.count >= Self.limit { state.known.removeAll() }
      state.known[sql] = reads
      return reads
    }
  }

  /// True if a commit may have changed what the SQL reads.
  func isTouched(_ sql: String, by touched: TouchedRecords) -> Bool {
    // SQL that was refused has ended its observation with the first read.
    guard let reads = try? reads(sql) else { return touched.hasRecords }
    return reads.contains { touched.touches($0.key, in: $0.value) }
  }

  private func emptyCopy() throws -> DatabaseQueue {
    let copy = try DatabaseQueue(configuration: Connections.configuration(StoreOptions()))
    try copy.inDatabase { database in
      try database.execute(sql: Format.linkSQL)
      for type in types { try SchemaInstaller(database: database).create(type.schema) }
      // The first use of a table-valued function declares its columns, which the authorizer would take for a write.
      try database.execute(sql: "SELECT 1 FROM json_each('[]'), json_tree('[]')")
    }
    return copy
  }

  private func decide(_ sql: String, in database: Database) throws -> [Int: FieldSet] {
    let witness = Witness(tables)
    let connection = database.sqliteConnection
    sqlite3_set_authorizer(
      connection,
      { context, action, first, second, _, _ in
        guard let context else { return SQLITE_DENY }
        let witness = Unmanaged<Witness>.fromOpaque(context).takeUnretainedValue()
        let isAllowed = witness.allows(
          action, first.map { String(cString: $0) } ?? "", second.map { String(cString: $0) } ?? "")
        return isAllowed ? SQLITE_OK : SQLITE_DENY
      }, Unmanaged.passUnretained(witness).toOpaque())
    defer { sqlite3_set_authorizer(connection, nil, nil) }
    var statement: OpaquePointer?
    let code = withExtendedLifetime(witness) { sqlite3_prepare_v3(connection, sql, -1, 0, &statement, nil) }
    defer { sqlite3_finalize(statement) }
    if let refusal = witness.refusal { throw BothyError(.invalidQuery, refusal) }
    guard code == SQLITE_OK else {
      let cause = sqlite3_errmsg(connection).map { String(cString: $0) } ?? "error \(code)"
      throw BothyError(.invalidQuery, "SQLite can't read the SQL: \(cause).")
    }
    guard let statement, sqlite3_stmt_readonly(statement) != 0, sqlite3_column_count(statement) > 0 else {
      throw BothyError(.invalidQuery, Self.onlyReads)
    }
    return witness.reads.merging(comparedByName(in: sql)) { $0.union($1) }
  }

  /// Returns the tables of SQL that joins by the names of columns. SQLite asks about no column that `USING` and `NATURAL`
  /// compare, nor about a table of which no other column is read. So each table that is named counts as a whole.
  private func comparedByName(in sql: String) -> [Int: FieldSet] {
    let text = sql.lowercased()
    guard text.contains("using") || text.contains("natural") else { return [:] }
    var reads: [Int: FieldSet] = [:]
    for (name, table) in tables where text.contains(name) {
      switch table {
      case .type(let type): reads[type.index] = .all
      case .index(let types): for type in types { reads[type] = .all }
      }
    }
    return reads
  }

  private static let onlyReads =
    "A SQL query only reads: begin it with SELECT or WITH. Write through the store."
}

extension SQLAuthority {
  /// Answers the questions of SQLite about one statement while it is prepared, and notes what the statement reads.
  private final class Witness {
    private let tables: [String: Table]
    private(set) var reads: [Int: FieldSet] = [:]
    /// A sentence about the first thing that isn't allowed.
    private(set) var refusal: String?

    /// Functions that read or write beyond the tables where a build of SQLite has them.
    private static let beyond: Set<String> = [
      "load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fts5", "icu_load_collation",
      "rtreecheck", "sqlite_log",
    ]

    init(_ tables: [String: Table]) { self.tables = tables }

    func allows(_ action: Int32, _ first: String, _ second: String) -> Bool {
      switch action {
      case SQLITE_SELECT, SQLITE_RECURSIVE: return true
      case SQLITE_READ: return allowsRead(of: second, in: first)
      case SQLITE_FUNCTION where Self.beyond.contains(second.lowercased()):
        return refuse("A SQL query can't call \(second), which reaches beyond the tables.")
      case SQLITE_FUNCTION: return true
      default: return refuse(SQLAuthority.onlyReads)
      }
    }

    /// SQLite names no column where a statement reads none, as in `count(*)`. It then gives the names of common table
    /// expressions too.
    private func allowsRead(of column: String, in table: String) -> Bool {
      switch tables[table.lowercased()] {
      case .type(let type)?: reads[type.index, default: []].formUnion(Self.fields(column, of: type))
      case .index(let types)?: for type in types { reads[type] = .all }
      case nil where column.isEmpty && !Self.isReserved(table): break
      case nil:
        return refuse("A SQL query can't read \(table). The tables have the names of the store's types.")
      }
      return true
    }

    /// True if a table is the store's or SQLite's, and not a common table expression. Types have no such names.
    private static func isReserved(_ table: String) -> Bool {
      ["bothy_", "sqlite_"].contains { table.lowercased().hasPrefix($0) }
    }

    private static func fields(_ column: String, of type: TypeTable) -> FieldSet {
      if column.isEmpty || column == "_id" { return .rows }
      let position = type.schema.fields.firstIndex {
        $0.columns.contains(column) || SortKey.naturalColumn($0.name) == column
      }
      guard let position else { return [.rows, .system] }
      return [.rows, .field(at: position)]
    }

    private func refuse(_ sentence: String) -> Bool {
      if refusal == nil { refusal = sentence }
      return false
    }
  }
}
