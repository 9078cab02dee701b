import BothyStore

/// Changes of what was read before the server's news.
extension Outbox {
  /// Makes the entry one of the time when the caller read the record: its base has what was read in the fields that both
  /// sides changed since, and the news are beside it. So the merge policy decides, as if the change had been made before
  /// the pull that brought them.
  ///
  /// Of an entry in doubt the base stays: the change is one of what was sent.
  static func rebase(
    _ id: RecordID, to stale: Change.Stale, _ table: TypeTable, at time: Int64,
    in transaction: WriteTransaction
  ) throws {
    guard let entry = try entry(id, in: transaction), let base = entry.base, entry.operationID == nil else {
      return
    }
    var members = try base.fields.members()
    for (position, value) in stale.values {
      var writer = JSONWriter()
      value.write(to: &writer)
      members[table.schema.fields[position].name] = value.isNull ? nil : try JSONValue(parsing: writer.bytes)
    }
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET base_version = ?3, base = ?4 WHERE type = ?1 AND id = ?2",
      in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(stale.version, at: 3)
    update.bind(FieldsDocument(members), at: 4)
    try update.run()
    guard entry.shadow == nil else { return }
    let sharing = try KnownSharing.sharing(of: id, in: transaction)
    // When the news were made is not kept; they were here before the edit was saved.
    let time = time - 1
    let told =
      stale.deletion.map {
        ServerRecord(id: id, container: entry.container, version: $0, modified: time, isDeleted: true)
      }
      ?? ServerRecord(
        id: id, container: entry.container, version: base.version, modified: time, fields: base.fields,
        sharing: sharing)
    try hear(told, in: transaction)
  }
}
