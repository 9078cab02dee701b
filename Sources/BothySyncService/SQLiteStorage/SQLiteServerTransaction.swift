import BothyStore
import GRDB

/// One transaction of a `SQLiteServerStorage`, with prepared statements and direct binds.
final class SQLiteServerTransaction: ServerTransaction {
  let database: Database
  let space: String
  private(set) var epoch = ""
  private(set) var head: Int64 = 0
  private(set) var floor: Int64 = 0
  /// The indexes of fields. `moveHead` and `setFieldIndexes` change them with their columns.
  var fieldIndexes = FieldIndexState()
  /// True if the space has a time at which it is due.
  private var isListed = true

  /// - Parameter run: the writer; `nil` for a transaction that reads.
  init(_ database: Database, space: String, run: ServerRun?) throws {
    let forWriting = run != nil
    self.database = database
    self.space = space
    let select = try PreparedStatement(
      "SELECT epoch, head, floor, due IS NULL, indexes, indexed FROM space WHERE name = ?", in: database)
    select.bind(space, at: 1)
    defer { select.reset() }
    let isKnown = try select.step()
    if isKnown {
      epoch = select.text(at: 0) ?? ""
      head = select.int(at: 1)
      floor = select.int(at: 2)
      isListed = select.int(at: 3) == 0
      fieldIndexes = FieldIndexState(text: select.text(at: 4), position: select.int(at: 5))
    } else if forWriting {
      epoch = UUIDv7.make()
      let insert = try PreparedStatement(
        "INSERT INTO space (name, epoch, head, floor, due) VALUES (?, ?, 0, 0, 0)", in: database)
      insert.bind(space, at: 1)
      insert.bind(epoch, at: 2)
      try insert.run()
    }
    if let run { try begin(run, inNewSpace: !isKnown) }
  }

  static let columns =
    "position, type, id, container, modified, owner, deleted, fields, sharing, created"

  func record(_ row: PreparedStatement) throws -> StoredRecord {
    let position = row.int(at: 0)
    let record = ServerRecord(
      id: RecordID(type: row.text(at: 1) ?? "", id: row.text(at: 2) ?? ""),
      container: row.text(at: 3) ?? "", version: String(position), modified: row.int(at: 4),
      created: row.optionalInt(at: 9), owner: row.text(at: 5),
      isDeleted: row.int(at: 6) != 0,
      fields: FieldsDocument(canonical: row.bytes(at: 7)),
      sharing: try row.text(at: 8).map(Audience.init(json:)) ?? .nobody)
    return StoredRecord(position: position, record: record)
  }

  func records(_ ids: [RecordID], bytes: Int) throws -> [StoredRecord] {
    let select = try PreparedStatement(
      "SELECT \(Self.columns) FROM record WHERE space = ? AND type = ? AND id = ?", in: database)
    var found: [StoredRecord] = []
    var seen: Set<RecordID> = []
    var left = bytes
    select.bind(space, at: 1)
    for id in ids where left > 0 && seen.insert(id).inserted {
      select.bind(id.type, at: 2)
      select.bind(id.id, at: 3)
      if try select.step() {
        let entry = try record(select)
        left -= entry.record.weight
        found.append(entry)
      }
      select.reset()
    }
    return found
  }

  func changes(after position: Int64, in scope: SyncScope, limit: Int, bytes: Int) throws -> [StoredRecord] {
    let select = try PreparedStatement(
      try isSmall(scope, after: position, limit: limit) ? Self.changesOfSmallTree : Self.changes(in: scope),
      in: database)
    select.bind(space, at: 1)
    select.bind(position, at: 2)
    select.bind(scope.container, at: 3)
    select.bind(Int64(limit), at: 4)
    defer { select.reset() }
    var found: [StoredRecord] = []
    found.reserveCapacity(max(0, min(limit, 1000)))
    var left = bytes
    while left > 0, try select.step() {
      let entry = try record(select)
      left -= entry.record.weight
      found.append(entry)
    }
    return found
  }

  /// Scans by position, and ends as soon as enough changes are found.
  private static func changes(in scope: SyncScope) -> String {
    """
    SELECT \(columns) FROM record
    WHERE space = ?1 AND position > ?2 AND \(filter(scope)) ORDER BY position LIMIT ?4
    """
  }

  /// Reads the index's two ranges of a container and of those below it, sorted by position.
  private static let changesOfSmallTree = """
    SELECT \(columns) FROM record WHERE space = ?1 AND position IN (
      SELECT position FROM record WHERE space = ?1 AND container = ?3 AND position > ?2
      UNION ALL
      SELECT position FROM record
        WHERE space = ?1 AND container >= ?3 || '/' AND container < ?3 || '0' AND position > ?2
      ORDER BY position LIMIT ?4)
    ORDER BY position
    """

  /// Returns true if reading the whole tree by the index is faster than scanning the changes of the space. That holds
  /// for a tree of n records among s changes if n is less than about the root of s × limit.
  func isSmall(_ scope: SyncScope, after position: Int64, limit: Int) throws -> Bool {
    guard scope.includesChildren, !scope.container.isEmpty else { return false }
    let span = Double(head) - Double(position)
    guard span > Double(limit) else { return false }
    let bound = min((span * Double(max(limit, 1))).squareRoot(), 50_000)
    let count = try PreparedStatement(
      """
      SELECT count(*) FROM (SELECT 1 FROM record WHERE space = ?1
        AND container >= ?3 || '/' AND container < ?3 || '0' LIMIT ?2)
      """, in: database)
    count.bind(space, at: 1)
    count.bind(Int64(bound), at: 2)
    count.bind(scope.container, at: 3)
    defer { count.reset() }
    return try count.step() && count.int(at: 0) < Int64(bound)
  }

  func departures(
    after position: Int64, upTo last: Int64, from scope: SyncScope, limit: Int
  ) throws -> [RecordRemoval] {
    if scope == .everything { return [] }
    let select = try PreparedStatement(
      """
      SELECT position, type, id, container, former FROM departure WHERE space = ?1 AND position > ?2 AND position <= ?4
        AND former IS NULL AND \(Self.filter(scope)) ORDER BY position LIMIT ?5
      """, in: database)
    select.bind(space, at: 1)
    select.bind(position, at: 2)
    select.bind(scope.container, at: 3)
    select.bind(last, at: 4)
    select.bind(Int64(limit), at: 5)
    return try removals(select)
  }

  func position(of scope: SyncScope) throws -> Int64 {
    let select = try PreparedStatement(
      """
      SELECT max(ifnull((SELECT max(position) FROM record WHERE space = ?1 AND \(Self.filter(scope))), 0),
        ifnull((SELECT max(position) FROM departure WHERE space = ?1 AND \(Self.filter(scope))), 0))
      """, in: database)
    select.bind(space, at: 1)
    select.bind(scope.container, at: 3)
    defer { select.reset() }
    return try select.step() ? select.int(at: 0) : 0
  }

  func forEachRecord(in scope: SyncScope, _ body: (StoredRecord) throws -> Void) throws {
    let select = try PreparedStatement(
      "SELECT \(Self.columns) FROM record WHERE space = ?1 AND deleted = 0 AND \(Self.filter(scope))",
      in: database)
    select.bind(space, at: 1)
    select.bind(scope.container, at: 3)
    defer { select.reset() }
    while try select.step() { try body(record(select)) }
  }

  /// Returns the condition on the container, whose path is parameter 3. Children are found by the range of paths that
  /// begin with the path and a slash. `0` is the character after `/`.
  static func filter(_ scope: SyncScope) -> String {
    if scope.includesChildren && scope.container.isEmpty { return "?3 IS NOT NULL" }
    if !scope.includesChildren { return "container = ?3" }
    return "(container = ?3 OR (container >= ?3 || '/' AND container < ?3 || '0'))"
  }

  func outcomes(_ keys: [OperationKey]) throws -> [OperationKey: Outcome.Verdict] {
    let select = try PreparedStatement(
      "SELECT outcome FROM operation WHERE space = ? AND device = ? AND id = ?", in: database)
    select.bind(space, at: 1)
    var found: [OperationKey: Outcome.Verdict] = [:]
    var device: (name: String, isKnown: Bool)?
    for key in keys {
      if device?.name != key.device {
        device = (key.device, try remembers(key.device))
        select.bind(key.device, at: 2)
      }
      guard device?.isKnown ?? false else { continue }
      select.bind(key.operation, at: 3)
      if try select.step(), let text = select.text(at: 0) {
        found[key] = try JSONReader.read(text) { try Outcome(from: &$0) }.verdict
      }
      select.reset()
    }
    return found
  }

  /// Returns true if outcomes are remembered under a device's name.
  private func remembers(_ device: String) throws -> Bool {
    let select = try PreparedStatement(
      "SELECT 1 FROM operation WHERE space = ? AND device = ? LIMIT 1", in: database)
    select.bind(space, at: 1)
    select.bind(device, at: 2)
    defer { select.reset() }
    return try select.step()
  }

  func query(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    let (sql, arguments) = try StorageQuery.select(
      query, after: after, schema: schema, columns: Self.columns, seenBy: filter)
    let select = try prepared(sql, arguments)
    defer { select.reset() }
    while try select.step() { guard try body(record(select)) else { return } }
  }

  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int {
    let (sql, arguments) = try StorageQuery.count(query, schema: schema)
    let select = try prepared(sql, arguments)
    defer { select.reset() }
    return try select.step() ? Int(select.int(at: 0)) : 0
  }

  /// Prepares a statement without caching it. Queries vary endlessly, and caching each fills the memory.
  private func prepared(_ sql: String, _ arguments: [FieldValue]) throws -> PreparedStatement {
    let select = try PreparedStatement(unkept: sql, in: database)
    select.bind(space, at: 1)
    for (index, argument) in arguments.enumerated() { select.bind(argument, at: Int32(index + 2)) }
    return select
  }

  func put(_ records: [StoredRecord], keepsIndexes: Bool) throws {
    guard let last = records.map(\.position).max() else { return }
    let insert = try PreparedStatement(
      """
      INSERT INTO record (space, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (space, type, id) DO UPDATE SET position = excluded.position, container = excluded.container,
        modified = excluded.modified, owner = excluded.owner, deleted = excluded.deleted, fields = excluded.fields,
        sharing = excluded.sharing, created = excluded.created
      """, in: database)
    insert.bind(space, at: 1)
    for entry in records {
      let record = entry.record
      insert.bind(entry.position, at: 2)
      insert.bind(record.id.type, at: 3)
      insert.bind(record.id.id, at: 4)
      insert.bind(record.container, at: 5)
      insert.bind(record.modified, at: 6)
      insert.bind(record.owner, at: 7)
      insert.bind(record.isDeleted ? 1 : 0, at: 8)
      insert.bind(utf8: record.fields.bytes, at: 9)
      insert.bind(record.sharing.isEmpty ? nil : record.sharing.json, at: 10)
      insert.bind(record.created, at: 11)
      try insert.run()
    }
    try index(records)
    try put(
      records.compactMap { entry in
        entry.leaves.map { RecordRemoval(position: entry.position, id: entry.record.id, container: $0) }
      })
    try moveHead(to: last, keepsIndexes: keepsIndexes)
  }

  /// Moves the head, and with it the position of indexes that have all entries up to the head.
  func moveHead(to last: Int64, keepsIndexes: Bool = true) throws {
    let isComplete = keepsIndexes && fieldIndexes.position >= head
    head = max(head, last)
    if isComplete { fieldIndexes.position = head }
    let indexed = isComplete ? "indexed = ?1, " : ""
    let update = try PreparedStatement(
      "UPDATE space SET head = ?1, \(indexed)\(SQLiteServerStorage.dueByChange) WHERE name = ?2",
      in: database)
    update.bind(head, at: 1)
    update.bind(space, at: 2)
    try update.run()
    isListed = true
  }

  /// Makes a space due that isn't due at any time, for a change that doesn't move the head. Another space's next upkeep
  /// finds what was added.
  private func list() throws {
    guard !isListed else { return }
    let update = try PreparedStatement("UPDATE space SET due = rest WHERE name = ?", in: database)
    update.bind(space, at: 1)
    try update.run()
    isListed = true
  }

  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws {
    if !outcomes.isEmpty { try list() }
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO operation VALUES (?, ?, ?, ?, ?)", in: database)
    insert.bind(space, at: 1)
    insert.bind(device, at: 2)
    var writer = JSONWriter()
    for outcome in outcomes {
      writer.removeAll()
      outcome.write(to: &writer)
      insert.bind(outcome.operation, at: 3)
      insert.bind(utf8: writer.bytes, at: 4)
      insert.bind(time, at: 5)
      try insert.run()
    }
  }

  /// Forgets at most a thousand outcomes at a time. That is more than a request has, so they don't accumulate. Ids sort
  /// by age, so the search ends if the first outcome is too recent.
  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws {
    let oldest = try PreparedStatement(
      "SELECT at FROM operation WHERE space = ? AND device = ? ORDER BY id LIMIT 1", in: database)
    oldest.bind(space, at: 1)
    oldest.bind(device, at: 2)
    defer { oldest.reset() }
    guard try oldest.step(), oldest.int(at: 0) < time else { return }
    let delete = try PreparedStatement(
      """
      DELETE FROM operation WHERE space = ?1 AND device = ?2 AND at < ?4 AND id IN (
        SELECT id FROM operation WHERE space = ?1 AND device = ?2 AND id < ?3 ORDER BY id LIMIT 1000)
      """, in: database)
    delete.bind(space, at: 1)
    delete.bind(device, at: 2)
    delete.bind(operation, at: 3)
    delete.bind(time, at: 4)
    try delete.run()
  }
}
