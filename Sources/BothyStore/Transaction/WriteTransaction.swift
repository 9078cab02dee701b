package import GRDB

internal import struct Foundation.Date

/// One transaction that changes the store. All of it is committed, or none.
///
/// Reads through it see its own writes. Valid only inside the closure that receives it, on the writer's thread.
public final class WriteTransaction: ReadTransaction {
  package let origin: WriteOrigin
  /// The records whose changes this transaction makes pending, each once, or nil if they aren't noted.
  package var changed: [RecordID]?
  /// True if they become drafts.
  package var makesDrafts = false
  /// True if the transaction only determines its effects and is then rolled back.
  package var isRehearsal = false
  /// A name that connects the changes of this transaction, for the recorder.
  package var group: String?
  /// The rejected transactions that changes of this one have joined. The rest of its changes joins them too.
  package var joined: Set<String> = []
  /// The origin of the changes that follow, for listeners to events.
  package var source: RecordChange.Source
  var log: EventLog?
  /// The store for the values of sensitive fields.
  package var secretStore: (any SecretStore)?
  /// The values written by this transaction, which are stored there just before the commit.
  package var secrets: [SecretKey: String] = [:]
  /// Their hashes by the readings of the saved values.
  var secretHashes: [SavedSecret: Int] = [:]
  /// The recorder of changes, or nil while they come from the server.
  var recorder: (any ChangeRecorder)?
  let clock: (any ChangeRecorder)?
  /// The changes that this process made before, and those of this transaction.
  var ownChanges: OwnChanges?
  var made = OwnChangesMade()
  var madeCount = 0
  /// True if the file keeps replaced values (see `ReplacedFields`).
  let keepsNews: Bool
  /// The time of the changes of this transaction, in milliseconds.
  package private(set) lazy var time = clock?.time ?? Timestamp(Date()).milliseconds
  private var changes: [Change] = []
  private(set) var touched: TouchedRecords

  package init(
    _ database: Database, _ catalog: Catalog, origin: WriteOrigin, recorder: (any ChangeRecorder)?
  ) {
    self.origin = origin
    source = origin == .app ? .local : .remote
    clock = recorder
    self.recorder = origin == .app ? recorder : nil
    keepsNews = recorder != nil
    touched = TouchedRecords(tableCount: catalog.tables.count)
    super.init(database, catalog)
  }

  /// The number of a reading, which sees the changes that this transaction has made by then.
  override var reading: Int64 { Reading.next(inWrite: true) }

  /// Throws if SQLite has ended the transaction. It rolls back by itself after a full disk, a failed read or write, or
  /// lack of memory. Later statements are otherwise committed at once, one by one.
  package override func checkIsOpen() throws {
    guard !database.isOutsideTransaction else {
      throw BothyError(
        .rolledBack,
        "An error inside this transaction (a full disk, say) made SQLite roll it back, so nothing of it was written. "
          + "Let the error out of the closure, remove its cause and write again.")
    }
  }

  /// Inserts a record. Throws `BothyError` `.alreadyExists` if the id is taken. Costs one row, and one row of the
  /// outbox for synced types.
  public func insert<E: Entity>(_ entity: E, in container: String? = nil) throws {
    let table = try table(of: E.self)
    guard table.hasSideWork else {
      return try insert(table, id: entity.id, container: container) { entity.encode(to: &$0) }
    }
    var values = FieldEncoder(gathering: table.schema.fields.count)
    entity.encode(to: &values)
    try insert(
      table, id: entity.id, container: container, values: values.values, readAs: entity.readMark)
  }

  /// Updates a record. Of a synced type only the fields that differ from the value as it was read count; later changes
  /// of others stay. Throws `BothyError` `.notFound` if the record doesn't exist. Costs one row, read and written, or
  /// no write if the type is synced and no field differs.
  public func update<E: Entity>(_ entity: E) throws {
    let table = try table(of: E.self)
    guard table.schema.isSynced || table.hasSideWork || !table.checkedPositions.isEmpty else {
      return try replace(table, id: entity.id) { entity.encode(to: &$0) }
    }
    var values = FieldEncoder(gathering: table.schema.fields.count)
    entity.encode(to: &values)
    try update(table, id: entity.id, values: values.values, readAs: entity.readMark, isTyped: true)
  }

  /// Inserts the record, or updates the existing one with its id. Moves an existing record from another container to
  /// the given one.
  ///
  /// If others deleted a record of a synced type after it was read, saving an edited value is an edit of the deleted
  /// record. The merge policy then decides when it is sent. A value that wasn't edited changes nothing.
  public func save<E: Entity>(_ entity: E, in container: String? = nil) throws {
    let table = try table(of: E.self)
    if try exists(table, id: entity.id) {
      try update(entity)
      if let container { try move(RecordID(entity), to: container) }
    } else if let news = try deletion(since: entity.readMark, table, id: entity.id) {
      var values = FieldEncoder(gathering: table.schema.fields.count)
      entity.encode(to: &values)
      try edit(
        table, id: entity.id, values: values.values, in: container, readAs: entity.readMark, deletedBy: news,
        isTyped: true)
    } else {
      try insert(entity, in: container)
    }
  }

  /// Like `save(_:in:)` of an entity, but for a record of any type. A record that was read changes the fields edited
  /// since, including cleared ones. A record that was created changes the fields that it has.
  package func save(_ record: AnyRecord, in container: String? = nil) throws {
    let table = try catalog.table(record.type)
    if let row = try row(table, id: record.id) {
      var values = row.values
      var absent: Set<Int> = []
      for (position, field) in table.schema.fields.enumerated() {
        if let value = record.fields[field.name] {
          values[position] = try table.checked(value, for: position)
        } else if record.clears(field) {
          values[position] = .null
        } else {
          absent.insert(position)
        }
      }
      for name in record.fields.keys where table.positions[name] == nil { throw table.unknownField(name) }
      try update(
        table, id: record.id, values: values, without: absent, readAs: record.origin.mark,
        isTyped: record.origin.isTyped)
      if let container { try move(record.recordID, to: container) }
    } else if let news = try deletion(since: record.origin.mark, table, id: record.id) {
      try edit(
        table, id: record.id, values: table.checkedValues(record), in: container, readAs: record.origin.mark,
        deletedBy: news, isTyped: record.origin.isTyped)
    } else {
      try insert(record)
    }
  }

  /// Reads, changes and writes one record, and returns it as `change` left it. Throws `BothyError` `.notFound` if it
  /// doesn't exist. An error of `change` changes nothing.
  @discardableResult
  public func update<E: Entity>(_ type: E.Type, id: String, _ change: (inout E) throws -> Void) throws -> E {
    guard var entity = try fetch(type, id: id) else {
      throw Self.notFound(RecordID(E.self, id: id))
    }
    try change(&entity)
    try update(entity)
    return entity
  }

  /// Deletes a record. Returns false if it doesn't exist. References to it follow their delete rules, and each record
  /// that they change counts as a change of its own.
  @discardableResult
  public func delete<E: Entity>(_ type: E.Type, id: String) throws -> Bool {
    try delete(id, table(of: type))
  }

  /// Deletes a record of any type. Returns false if it doesn't exist.
  @discardableResult
  package func delete(_ id: RecordID) throws -> Bool { try delete(id.id, catalog.table(id.type)) }

  private func delete(_ id: String, _ table: TypeTable) throws -> Bool {
    if catalog.incoming[table.index].isEmpty { return try remove(id, table) }
    guard try exists(table, id: id) else { return false }
    let id = RecordID(type: table.schema.name, id: id)
    let plan = try DeletionPlan(of: id, in: self)
    for clearing in plan.clearings { try clearReference(clearing) }
    for doomed in plan.deletions { _ = try remove(doomed.id, catalog.table(doomed.type)) }
    return true
  }

  /// Inserts a record of any type. Fills in defaults, then checks every field against the schema. Throws
  /// `unknownField`, `.invalidValue` or `.alreadyExists`.
  package func insert(_ record: AnyRecord) throws {
    let table = try catalog.table(record.type)
    let values = try table.checkedValues(record)
    try insert(
      table, id: record.id, container: record.container, values: values, readAs: record.origin.mark,
      given: record.origin.isWhole ? nil : record.fields)
    note(values, readAs: record.origin.mark, over: values, now: values, table, id: record.id)
  }

  /// Changes the named fields of a record of any type; null clears one. Throws `.notFound`, `unknownField` or
  /// `.invalidValue`.
  @discardableResult
  package func update(_ id: RecordID, fields: [String: FieldValue]) throws -> AnyRecord {
    let table = try catalog.table(id.type)
    guard var row = try row(table, id: id.id) else { throw Self.notFound(id) }
    for (name, value) in fields {
      guard let position = table.positions[name] else { throw table.unknownField(name) }
      row.values[position] = try table.checked(value, for: position)
    }
    try update(table, id: id.id, values: row.values)
    return AnyRecord(id: id.id, row, table, reading: reading)
  }

  /// Moves a record of a synced type to another container. Returns false if it is there already. Its fields are
  /// unchanged. Throws `BothyError` `.notFound`. Costs one row, read and written.
  @discardableResult
  public func move(_ id: RecordID, to container: String) throws -> Bool {
    let table = try catalog.table(id.type)
    guard let before = try row(table, id: id.id) else { throw Self.notFound(id) }
    guard table.schema.isSynced, before.container ?? id.type != container else { return false }
    try setContainer(container, table, id: id.id)
    try setMetadata(RecordMetadata(modified: time), table, id: id.id)
    changed(.update, table, id.id, before: before)
    try flushIfFull()
    return true
  }

  private func insert(
    _ table: TypeTable, id: String, container: String?, values: [FieldValue], readAs mark: ReadMark = .whole,
    given: [String: FieldValue]? = nil
  ) throws {
    let (values, secrets) = conceal(values, table, id, readAs: mark)
    if table.hasSideWork { try checkUnique(table, id: id, values) }
    try insertRow(table, id: id, container: container) { encoder in
      for (field, value) in zip(table.schema.fields, values) { encoder.encode(value, kind: field.kind) }
    }
    keep(secrets)
    if table.hasListReferences { try link(table, id: id, values) }
    changed(.insert, table, id, before: nil, given: given)
    try flushIfFull()
  }

  private func insert(
    _ table: TypeTable, id: String, container: String?, _ encode: (inout FieldEncoder) -> Void
  ) throws {
    try insertRow(table, id: id, container: container, encode)
    changed(.insert, table, id, before: nil)
    try flushIfFull()
  }

  func insertRow(
    _ table: TypeTable, id: String, container: String?, _ encode: (inout FieldEncoder) -> Void
  ) throws {
    let insert = try statement(.insert, table)
    insert.bind(id, at: 1)
    var encoder = FieldEncoder(binding: insert.pointer, from: 2)
    encode(&encoder)
    try check(encoder, from: 2, insert, table)
    if table.schema.isSynced {
      let next = encoder.nextParameter
      insert.bind(container == table.schema.name ? nil : container, at: next)
      insert.bind(time, at: next + 1)
      insert.bind(time, at: next + 2)
    }
    try run(insert, table, id: id)
  }

  private func update(
    _ table: TypeTable, id: String, values: [FieldValue], without absent: Set<Int> = [],
    readAs mark: ReadMark = .whole, isTyped: Bool = false
  ) throws {
    guard let before = try row(table, id: id) else {
      throw Self.notFound(RecordID(type: table.schema.name, id: id))
    }
    // A secret changes nothing in the row, but must be sent.
    let (saved, secrets) = conceal(values, table, id, readAs: mark, isKept: true)
    var values = saved
    let (stale, unseen, isHidden) = try leaveNews(
      in: &values, without: absent, readAs: mark, over: before, table, id: id, isTyped: isTyped)
    // A save under way that is saved here too is durable from now on, whatever the server answers.
    let isChange = before.values != values || !secrets.isEmpty || stale != nil || isHidden
    if isChange { try updateRow(table, id: id, values, over: before) }
    // Remembered once nothing refuses the save. The app may catch a refusal, and save the value again.
    keep(secrets)
    note(saved, readAs: mark, over: before.values, now: values, unseen: unseen, table, id: id)
    guard isChange else { return }
    let update = Change.Update(values: values, reading: mark.reading)
    changed(.update, table, id, before: before, update: update, stale: stale)
    try flushIfFull()
  }

  private func updateRow(
    _ table: TypeTable, id: String, _ values: [FieldValue], over before: StoredRow
  ) throws {
    if table.hasSideWork { try checkUnique(table, id: id, values, before: before.values) }
    let update = try statement(.update, table)
    var encoder = FieldEncoder(binding: update.pointer, from: 1)
    for (field, value) in zip(table.schema.fields, values) { encoder.encode(value, kind: field.kind) }
    try check(encoder, from: 1, update, table)
    var next = encoder.nextParameter
    if table.schema.isSynced {
      update.bind(time, at: next)
      next += 1
    }
    update.bind(id, at: next)
    try run(update, table, id: id)
    if let aside = before.unknownFields { try forget(aside, of: before.values, now: values, table, id) }
    try unlink(table, id: id, before.values)
    try link(table, id: id, values)
  }

  private func replace(_ table: TypeTable, id: String, _ encode: (inout FieldEncoder) -> Void) throws {
    let update = try statement(.update, table)
    var encoder = FieldEncoder(binding: update.pointer, from: 1)
    encode(&encoder)
    try check(encoder, from: 1, update, table)
    update.bind(id, at: encoder.nextParameter)
    try run(update, table, id: id)
    guard database.changedRows > 0 else { throw Self.notFound(RecordID(type: table.schema.name, id: id)) }
    touched.insert(table.index, id)
    note(.updated, table, id)
  }

  /// Throws if a value was refused: a place off the earth, a number that isn't finite, JSON nested too deep. Also
  /// throws `.invalidValue` for a value over a gigabyte, which SQLite doesn't take.
  private func check(
    _ encoder: FieldEncoder, from first: Int32, _ statement: PreparedStatement, _ table: TypeTable
  ) throws {
    if let refused = encoder.refused {
      statement.clearBindings()
      throw table.refusal(of: refused.value, inColumn: refused.parameter - first)
    }
    guard encoder.resultCode != 0 else { return }
    statement.clearBindings()
    throw DatabaseError(resultCode: ResultCode(rawValue: encoder.resultCode))
  }

  /// Removes one row and ignores references to it.
  private func remove(_ id: String, _ table: TypeTable) throws -> Bool {
    var before: StoredRow?
    if table.schema.isSynced {
      before = try row(table, id: id)
      guard before != nil else { return false }
    }
    if table.hasListReferences { try unlink(table, id: id) }
    let delete = try statement(.delete, table)
    delete.bind(id, at: 1)
    try delete.run()
    guard database.changedRows > 0 else { return false }
    if let before {
      let nulls = before.values.map { _ in FieldValue.null }
      note(nulls, readAs: .whole, over: before.values, now: nulls, table, id: id)
    }
    changed(.delete, table, id, before: before)
    try flushIfFull()
    return true
  }

  // MARK: notifying the recorder and the observers

  func changed(
    _ kind: Change.Kind, _ table: TypeTable, _ id: String, before: StoredRow?, update: Change.Update? = nil,
    stale: Change.Stale? = nil, given: [String: FieldValue]? = nil
  ) {
    touched.insert(table.index, id, FieldSet(from: before, to: update?.values))
    switch kind {
    case .insert: note(.inserted, table, id)
    case .update: note(.updated, table, id)
    case .delete: note(.removed, table, id)
    }
    if recorder != nil && table.schema.isSynced {
      changes.append(
        Change(
          kind: kind, table: table.index, id: id, before: before, update: update, stale: stale, given: given))
    }
  }

  func flushIfFull() throws {
    if changes.count >= 1000 { try flush() }
  }

  /// Passes the collected changes to the recorder.
  package func flush() throws {
    try checkIsOpen()
    guard !changes.isEmpty, let recorder else { return }
    try recorder.record(changes, in: self)
    changes.removeAll(keepingCapacity: true)
  }

  /// Notifies observers of a record that was changed by other means than the methods above.
  package func touch(_ table: TypeTable, _ id: String, _ changed: FieldSet = .all) {
    touched.insert(table.index, id, changed)
  }

  /// Notifies other processes of the commit even if it touches no record.
  package func touchBookkeeping() { touched.bookkeeping = true }

  /// Notifies observers of a change of settings that the file stores beside its records.
  package func touchSettings() { touched.settings = true }

  /// Records an event if a listener exists.
  func note(_ kind: RecordChange.Kind, _ table: TypeTable, _ id: String) {
    guard log != nil else { return }
    log?.note(RecordChange(RecordID(type: table.schema.name, id: id), kind, by: source))
  }
}
