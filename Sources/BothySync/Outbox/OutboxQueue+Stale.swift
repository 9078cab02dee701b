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
    content.fields = FieldsDocument(try stale.laid(on: base.fields.members(), table))
    try setBase(of: top, content, in: transaction)
  }

  /// Returns the values read of the fields that a change and others have both changed since, each in another way.
  static func conflicts(
    of mine: [FieldValue], readAs read: [FieldValue], with theirs: [FieldValue], _ schema: TypeSchema
  ) -> [Int: FieldValue] {
    let positions = schema.fields.indices.filter { position in
      schema.fields[position].merge.ofOnePerson == .client && read[position] != theirs[position]
        && mine[position] != read[position] && mine[position] != theirs[position]
    }
    return Dictionary(uniqueKeysWithValues: positions.map { ($0, read[$0]) })
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
    let fields = FieldsDocument(try stale.laid(on: base.fields.members(), table))
    try update(entry, "SET base_version = ?4, base = ?5", stale.version, fields, in: transaction)
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

extension Change.Stale {
  /// Returns a base with the values that the caller had read, in the fields that both sides changed since.
  func laid(on base: [String: JSONValue], _ table: TypeTable) -> [String: JSONValue] {
    var members = base
    for (position, value) in values {
      members[table.schema.fields[position].name] = value.isNull ? nil : value.json
    }
    return members
  }
}
