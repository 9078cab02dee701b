import GRDB

/// The checks of a store and their findings so far. Only reads. The caller rolls the transaction back.
struct StoreVerifier {
  let database: Database
  let schema: StoreSchema
  var findings: [StoreDiagnosis.Finding] = []

  init(database: Database, schema: StoreSchema) {
    self.database = database
    self.schema = schema
  }

  mutating func run(includingText: Bool) {
    attempt("file") { try $0.checkFile() }
    for type in schema.types {
      attempt("tables") { try $0.checkTable(type) }
      attempt("rows") { try $0.checkRows(type) }
      if includingText && type.hasFullText { checkText(type) }
      for index in type.placeIndexes { checkPlaces(index, of: type) }
      attempt("order") { try $0.checkSortKeys(type) }
      attempt("links") { try $0.checkLinks(type) }
    }
    attempt("links") { try $0.checkStrayLinks() }
  }

  mutating func found(
    _ severity: StoreDiagnosis.Finding.Severity, _ check: String, _ message: String, _ remedy: String,
    repair: StoreDiagnosis.Finding.Repair? = nil
  ) {
    findings.append(.init(severity, check: check, message, remedy: remedy, repair: repair))
  }

  /// Runs one check. An error that it throws becomes a finding, and the next check runs.
  mutating func attempt(_ check: String, _ body: (inout StoreVerifier) throws -> Void) {
    do { try body(&self) } catch {
      found(.error, check, "The check could not be finished: \(error).", Self.restore)
    }
  }

  static let restore = "Export what can still be read, then restore a backup or sync into a new file."

  private mutating func checkFile() throws {
    for line in try String.fetchAll(database, sql: "PRAGMA integrity_check(20)") where line != "ok" {
      if line.hasPrefix("In RTree") { continue }  // The check of places reports it, with the type.
      let isIndexOnly = line.contains("missing from index") || line.contains("wrong # of entries in index")
      found(
        isIndexOnly ? .warning : .error, "file", "SQLite reports: \(line).",
        isIndexOnly ? "Repair builds the indexes again." : Self.restore, repair: isIndexOnly ? .reindex : nil)
    }
  }

  private mutating func checkTable(_ type: TypeSchema) throws {
    guard try database.tableExists(type.name) else {
      return found(.error, "tables", "The table of \(type.name) is missing.", Self.restore)
    }
    let rows = try Row.fetchAll(database, sql: "PRAGMA table_info(\(type.name.quotedIdentifier))")
    let columns = Dictionary(
      rows.map { ($0["name"] as String, $0["type"] as String) }, uniquingKeysWith: { $1 })
    var expected = ["_id": "TEXT"]
    for field in type.fields { for column in field.columns { expected[column] = field.kind.columnType } }
    if type.isSynced { for column in TypeTable.systemColumns { expected[column.name] = column.type } }
    for (column, kind) in expected.sorted(by: { $0.key < $1.key }) where columns[column] != kind {
      let state = columns[column].map { "is \($0), not \(kind)" } ?? "is missing"
      found(.error, "tables", "The column \(type.name).\(column) \(state).", Self.restore)
    }
    let sortKeys = type.naturalIndexes.map(\.column)
    for column in columns.keys.sorted() where expected[column] == nil && !sortKeys.contains(column) {
      found(
        .warning, "tables", "The table of \(type.name) has the undeclared column \(column).",
        "Another program added it; it is not synced.")
    }
    try checkIndexes(type)
  }

  private mutating func checkIndexes(_ type: TypeSchema) throws {
    let present = try Set(String.fetchAll(database, sql: "SELECT name FROM sqlite_master"))
    for name in SchemaInstaller.indexNames(of: type) where !present.contains(name) {
      found(
        .warning, "tables", "\(name), which \(type.name) is searched by, is missing.",
        "Repair builds it again.", repair: .indexes(type: type.name))
    }
  }

  private mutating func checkRows(_ type: TypeSchema) throws {
    let table = type.name.quotedIdentifier
    for field in type.fields {
      guard let column = field.columns.first?.quotedIdentifier else { continue }
      if !field.isOptional {
        let count = try count("SELECT count(*) FROM \(table) WHERE \(column) IS NULL")
        if count > 0 {
          found(
            .error, "rows", "\(count) records of \(type.name) have no \(field.name), which is required.",
            "Give them a value with `update`, or make the field optional.")
        }
      }
      guard field.kind.isJSONText else { continue }
      let count = try count(
        "SELECT count(*) FROM \(table) WHERE \(column) IS NOT NULL AND NOT json_valid(\(column))")
      if count > 0 {
        found(
          .error, "rows", "\(count) records of \(type.name) have a \(field.name) that is not JSON.",
          "Give them a value with `update`.")
      }
    }
  }

  /// Runs FTS5's own check, which also compares the index with the rows (SQLite documentation, "The 'integrity-check'
  /// Command").
  private mutating func checkText(_ type: TypeSchema) {
    let index = SchemaInstaller.fullTextTable(type.name)
    do {
      try database.execute(sql: "INSERT INTO \(index)(\(index), rank) VALUES ('integrity-check', 1)")
    } catch {
      found(
        .warning, "text", "The text index of \(type.name) does not match its records: \(error).",
        "Repair builds it again.", repair: .indexes(type: type.name))
    }
  }

  private mutating func checkPlaces(_ index: PlaceIndex, of type: TypeSchema) {
    var problem: String?
    do {
      // A missing table is reported by `checkTable`.
      let stored = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
      guard try Int.fetchOne(database, sql: stored, arguments: [index.name]) == 1 else { return }
      let (missing, stray, fault) = try index.differences(in: database)
      if missing + stray > 0 { problem = "it lacks \(missing) places and has \(stray) too many" }
      problem = fault ?? problem
    } catch { problem = "\(error)" }
    guard let problem else { return }
    found(
      .warning, "places", "The index \(index.name) does not match its records: \(problem).",
      "Repair builds it again.", repair: .indexes(type: type.name))
  }

  private mutating func checkSortKeys(_ type: TypeSchema) throws {
    let indexes = type.naturalIndexes
    let columns = try indexes.isEmpty ? [] : Set(database.columns(in: type.name).map(\.name))
    for index in indexes {
      let isPresent = columns.contains(index.column)
      let count = try isPresent ? index.differences(in: database) : 0
      if isPresent && count == 0 { continue }
      found(
        .warning, "order",
        isPresent
          ? "\(count) sort keys in \(type.name).\(index.column) are not those of their texts."
          : "The column \(type.name).\(index.column) with sort keys is missing.",
        "Repair makes them again.", repair: .indexes(type: type.name))
    }
  }

  private mutating func checkLinks(_ type: TypeSchema) throws {
    for field in type.fields {
      let (missing, dangling) = try LinkIndex(database: database).differences(type: type.name, field: field)
      guard missing + dangling > 0 else { continue }
      found(
        .warning, "links",
        "The reference index of \(type.name).\(field.name) lacks \(missing) entries and has \(dangling) too many; "
          + "delete rules may miss records.",
        "Repair builds it again.", repair: .links(type: type.name, field: field.name))
    }
  }

  private mutating func checkStrayLinks() throws {
    let count = try count(Self.strayLinks(schema, "SELECT count(*)"))
    guard count > 0 else { return }
    found(
      .warning, "links", "The reference index has \(count) entries of fields that are not declared.",
      "Repair removes them.", repair: .strayLinks)
  }

  /// Returns SQL that applies `verb` to the entries of the reference index that belong to no declared field. Names are
  /// identifiers.
  static func strayLinks(_ schema: StoreSchema, _ verb: String) -> String {
    let declared = schema.types.flatMap { type in
      type.fields.filter(\.kind.isReferenceList).map { "'\(type.name).\($0.name)'" }
    }
    return
      "\(verb) FROM bothy_link WHERE owner_type || '.' || field NOT IN (\(declared.joined(separator: ", ")))"
  }

  private func count(_ sql: String) throws -> Int { try Int.fetchOne(database, sql: sql) ?? 0 }
}

extension ValueKind {
  fileprivate var isJSONText: Bool { self == .json || self == .blob || isReferenceList }

  fileprivate var isReferenceList: Bool {
    if case .references = self { true } else { false }
  }
}
