import BothyStore
import BothySyncService

/// One transaction of a `PostgresServerStorage`, or the part of it for one of several writes.
///
/// Writes are held back and travel with the next read or with the commit, in one round trip.
final class PostgresTransaction: ServerTransaction {
  /// The numbers of records that are read at a time in a visit of many: of the first piece, the least and the most. A
  /// piece of more than a megabyte is followed by a smaller one.
  private static let pieces = (first: 64, least: 8, most: 500)

  let connection: PostgresConnection
  let space: String
  let epoch: String
  private(set) var head: Int64
  let floor: Int64
  /// True if the space has a time at which it is due.
  private(set) var isListed: Bool
  /// The indexes of fields. `moveHead` and `setFieldIndexes` change them with their columns.
  var fieldIndexes: FieldIndexState
  /// The end of a search; `nil` for reads without a time limit.
  var watch: SearchWatch?
  private var cursors = 0
  private var waiting: [PostgresStatement] = []
  /// True if anything was sent.
  private var isSent = false
  private(set) var hasWritten = false

  init(
    _ connection: PostgresConnection, space: String, epoch: String = "", head: Int64 = 0, floor: Int64 = 0,
    isListed: Bool = true, fieldIndexes: FieldIndexState = FieldIndexState()
  ) {
    self.connection = connection
    self.space = space
    self.epoch = epoch
    self.head = head
    self.floor = floor
    self.isListed = isListed
    self.fieldIndexes = fieldIndexes
  }

  /// Makes a transaction from the space's row, if it exists.
  convenience init(_ connection: PostgresConnection, space: String, row: PostgresResult) {
    if row.count == 0 {
      self.init(connection, space: space)
    } else {
      self.init(
        connection, space: space, epoch: row.text(0, 0) ?? "", head: row.int(0, 1), floor: row.int(0, 2),
        isListed: !row.bool(0, 3),
        fieldIndexes: FieldIndexState(text: row.text(0, 4), position: row.int(0, 5)))
    }
  }

  /// Returns a statement whose first parameter is the space.
  func statement(_ sql: String) -> PostgresStatement { PostgresStatement(sql, in: space) }

  /// Reads, after all waiting writes.
  func read(_ statement: PostgresStatement) throws -> PostgresResult {
    isSent = true
    let statements = takeWaiting() + [statement]
    guard let result = try connection.run(statements).last else {
      throw PostgresFailure(message: "PostgreSQL gave no answer.")
    }
    return result
  }

  /// Writes with the next read.
  func write(_ statement: PostgresStatement) {
    hasWritten = true
    waiting.append(statement)
  }

  /// Makes the transaction sign, so that its commit waits for synchronous standbys.
  func confirm() { hasWritten = true }

  /// Adds a command without effect on data.
  func command(_ sql: String) { waiting.append(.command(sql)) }

  /// Returns the statements that were not sent yet. The caller sends them.
  func takeWaiting() -> [PostgresStatement] {
    isSent = true
    defer { waiting = [] }
    return waiting
  }

  /// Rolls back to the savepoint, which was the first command.
  func undo(to savepoint: String) throws {
    waiting = []
    guard isSent else { return }
    _ = try connection.run([
      .command("ROLLBACK TO SAVEPOINT \(savepoint)"), .command("RELEASE SAVEPOINT \(savepoint)"),
    ])
  }

  /// Moves the head, and with it the position of indexes that have all entries up to the head.
  func moveHead(to last: Int64, keepsIndexes: Bool = true) {
    let isComplete = keepsIndexes && fieldIndexes.position >= head
    head = max(head, last)
    if isComplete { fieldIndexes.position = head }
    var update = statement(isComplete ? StorageSQL.moveHeadAndIndexes : StorageSQL.moveHead)
    update.bind(head)
    write(update)
    isListed = true
  }

  /// Makes a space due that isn't due at any time, for a change that doesn't move the head. Another space's next upkeep
  /// finds what was added.
  func list() {
    guard !isListed else { return }
    write(statement(StorageSQL.list))
    isListed = true
  }

  /// Returns a statement whose second parameter is the path of a scope.
  func scoped(_ scope: SyncScope, _ sql: (StorageSQL.Scope) -> String) -> PostgresStatement {
    var statement = statement(sql(StorageSQL.Scope(scope)))
    statement.bind(scope.container)
    return statement
  }

  static func record(_ rows: PostgresResult, _ row: Int) throws -> StoredRecord {
    let position = rows.int(row, 0)
    let record = ServerRecord(
      id: RecordID(type: rows.text(row, 1) ?? "", id: rows.text(row, 2) ?? ""),
      container: rows.text(row, 3) ?? "", version: String(position), modified: rows.int(row, 4),
      created: rows.isNull(row, 9) ? nil : rows.int(row, 9), owner: rows.text(row, 5),
      isDeleted: rows.bool(row, 6),
      fields: FieldsDocument(canonical: rows.bytes(row, 7)),
      sharing: try rows.text(row, 8).map(Audience.init(json:)) ?? .nobody)
    return StoredRecord(position: position, record: record)
  }

  func records(_ rows: PostgresResult) throws -> [StoredRecord] {
    try (0..<rows.count).map { row in
      try watch?.check()
      return try Self.record(rows, row)
    }
  }

  func records(_ ids: [RecordID], bytes: Int) throws -> [StoredRecord] {
    var seen: Set<RecordID> = []
    // No record has a zero byte in its name, and a parameter of a statement can't have one.
    let ids = ids.filter { !"\($0.type)\($0.id)".utf8.contains(0) && seen.insert($0).inserted }
    guard !ids.isEmpty else { return [] }
    var select = statement(StorageSQL.records)
    select.bind(ids.map(\.type))
    select.bind(ids.map(\.id))
    select.bind(Int64(bytes))
    return try records(try read(select))
  }

  func changes(after position: Int64, in scope: SyncScope, limit: Int, bytes: Int) throws -> [StoredRecord] {
    var select = scoped(scope, StorageSQL.changes)
    select.bind(position)
    select.bind(Int64(limit))
    select.bind(Int64(bytes))
    return try records(try read(select))
  }

  func departures(after: Int64, upTo last: Int64, from scope: SyncScope, limit: Int) throws
    -> [RecordRemoval]
  {
    if scope == .everything { return [] }
    var select = scoped(scope, StorageSQL.departures)
    select.bind(after)
    select.bind(last)
    select.bind(Int64(limit))
    return try removals(select)
  }

  func formerlyVisible(after: Int64, upTo last: Int64, limit: Int) throws -> [RecordRemoval] {
    var select = statement(StorageSQL.formerlyVisible)
    select.bind(after)
    select.bind(last)
    select.bind(Int64(limit))
    return try removals(select)
  }

  private func removals(_ select: PostgresStatement) throws -> [RecordRemoval] {
    let rows = try read(select)
    return (0..<rows.count).map { row in
      RecordRemoval(
        position: rows.int(row, 0), id: RecordID(type: rows.text(row, 1) ?? "", id: rows.text(row, 2) ?? ""),
        container: rows.text(row, 3) ?? "", former: rows.text(row, 4))
    }
  }

  func position(of scope: SyncScope) throws -> Int64 {
    try read(scoped(scope, StorageSQL.position)).int(0, 0)
  }

  func forEachRecord(in scope: SyncScope, _ body: (StoredRecord) throws -> Void) throws {
    try visit(scoped(scope, StorageSQL.visit)) {
      try body($0)
      return true
    }
  }

  /// Calls `body` with the records of a statement until it returns false. Reads them in pieces through a cursor, so
  /// that any number of them needs the memory of a piece.
  ///
  /// - Parameter look: a statement that is run before it, in the same round trip. If its answer is true, no record is
  ///   visited.
  /// - Returns: false if the answer of `look` is true.
  @discardableResult
  func visit(
    _ select: PostgresStatement, unless look: PostgresStatement? = nil,
    _ body: (StoredRecord) throws -> Bool
  ) throws -> Bool {
    let name = "visit\(cursors)"
    cursors += 1
    var size = Self.pieces.first
    var statements = takeWaiting()
    if let look { statements.append(look) }
    statements.append(select.saying("DECLARE \(name) NO SCROLL CURSOR FOR \(select.sql)"))
    statements.append(.command("FETCH \(size) FROM \(name)"))
    let results = try connection.run(statements)
    guard results.count == statements.count, var rows = results.last else {
      throw PostgresFailure(message: "PostgreSQL gave no answer.")
    }
    let isRefused = look != nil && results[results.count - 3].bool(0, 0)
    var isWanted = !isRefused
    while isWanted {
      var bytes = 0
      for row in 0..<rows.count where isWanted {
        try watch?.check()
        let entry = try Self.record(rows, row)
        bytes += entry.record.fields.bytes.count
        isWanted = try body(entry)
      }
      guard isWanted, rows.count == size else { break }
      size = bytes < 1 << 20 ? min(size * 2, Self.pieces.most) : max(size / 2, Self.pieces.least)
      rows = try read(.command("FETCH \(size) FROM \(name)"))
    }
    command("CLOSE \(name)")
    return !isRefused
  }

  func outcomes(_ keys: [OperationKey]) throws -> [OperationKey: Outcome.Verdict] {
    guard !keys.isEmpty else { return [:] }
    var select = statement(StorageSQL.outcomes)
    select.bind(keys.map(\.device))
    select.bind(keys.map(\.operation))
    let rows = try read(select)
    var found: [OperationKey: Outcome.Verdict] = [:]
    for row in 0..<rows.count {
      guard let device = rows.text(row, 0), let id = rows.text(row, 1), let text = rows.text(row, 2) else {
        continue
      }
      found[OperationKey(device: device, operation: id)] =
        try JSONReader.read(text) { try Outcome(from: &$0) }.verdict
    }
    return found
  }
}

extension StorageSQL.Scope {
  init(_ scope: SyncScope) {
    self = !scope.includesChildren ? .one : scope.container.isEmpty ? .all : .tree
  }
}
