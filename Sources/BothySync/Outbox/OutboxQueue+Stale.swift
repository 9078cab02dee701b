import BothyStore

/// Changes of values that were read before newer versions arrived from the server.
extension OutboxQueue {
  /// Bases the last change of a record, which is stacked on others, on what the caller had read. Its conflict with the
  /// server's version is decided when it becomes the entry.
  static func age(
    _ id: RecordID, to stale: Change.Stale, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    guard let top = try last(of: id, in: transaction), let base = top.base else { return }
    var content = Content(base, id.type)
    content.fields = try fields(base.fields, at: stale, table)
    try setBase(of: top, content, in: transaction)
  }

  /// Returns a base with the values that the caller had read, in the fields that both sides changed since.
  private static func fields(
    _ base: FieldsDocument, at stale: Change.Stale, _ table: TypeTable
  ) throws -> FieldsDocument {
    var members = try base.members()
    for (position, value) in stale.values {
      members[table.schema.fields[position].name] = value.isNull ? nil : value.json
    }
    return FieldsDocument(members)
  }

  /// Bases the entry on what the caller had read. Its base gets the values read in the fields that both sides changed
  /// since, and the server's newer version is noted beside it. So the merge policy decides, as if the change had been
  /// made before the pull that brought that version.
  ///
  /// An entry in doubt keeps its base, because the change belongs to what was sent.
  static func rebase(
    _ id: RecordID, to stale: Change.Stale, _ table: TypeTable, at time: Int64,
    in transaction: WriteTransaction
  ) throws {
    guard let entry = try entry(id, in: transaction), let base = entry.base, entry.operationID == nil else {
      return
    }
    let fields = try Self.fields(base.fields, at: stale, table)
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET base_version = ?3, base = ?4 WHERE type = ?1 AND id = ?2",
      in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(stale.version, at: 3)
    update.bind(fields, at: 4)
    try update.run()
    guard entry.remoteVersion == nil else { return }
    let sharing = try AudienceTable.sharing(of: id, in: transaction)
    // The server's version was here before the edit was saved, whatever the clocks say.
    let time = time - 1
    var metadata = base.metadata
    metadata.modifiedTime = min(metadata.modifiedTime ?? time, time)
    let told =
      stale.deletion.map {
        ServerRecord(id: id, container: entry.container, version: $0, modified: time, isDeleted: true)
      }
      ?? ServerRecord(
        id: id, container: entry.container, version: base.version, metadata: metadata, fields: base.fields,
        sharing: sharing)
    try hear(told, in: transaction)
  }
}
