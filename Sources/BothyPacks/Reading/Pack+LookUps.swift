public import BothyStore

/// Single records by id.
extension Pack {
  /// Returns the record with `id`, or `nil`.
  ///
  /// Reads one row by its key, or two for a sharded type: the position of the id from the index, and the row from its
  /// shard. Takes a few microseconds on the calling thread. The first read of a shard opens its file.
  ///
  /// - Throws: `BothyError` `.schemaMismatch` if the pack lacks the type or one of its fields, and `.damagedFile`.
  ///   Throws `.invalidValue` for a record with content that this app doesn't know and has no default for. Throws
  ///   `closed` for a sharded type after `close()`.
  public func fetch<E: Entity>(_ type: E.Type, id: String) throws -> E? {
    let shape = try shapes.shape(of: E.self)
    return try row(shape, id) { statement -> E? in
      var fields = FieldDecoder(row: statement.pointer, from: 1, type: E.typeName)
      do throws(BothyError) { return try E(id: id, from: &fields) } catch {
        return try shape.table.entity(
          E.self, id, of: statement, fields.readMark, after: error, leavesOut: false)
      }
    }
  }

  /// Returns the record of any type, or `nil`.
  ///
  /// Costs the same reads as `fetch(_:id:)`. The record has all fields of the pack, including those that the app
  /// doesn't know.
  ///
  /// - Throws: `BothyError` `unknownType`, `closed` or `.damagedFile`.
  public func record(_ id: RecordID) throws -> AnyRecord? {
    let shape = try shapes.shape(named: id.type)
    return try row(shape, id.id) { AnyRecord(id: id.id, try StoredRow(from: $0, shape.table), shape.table) }
  }

  /// Returns the record that a reference names, or `nil` if the pack lacks it.
  ///
  /// Costs and throws like `fetch(_:id:)`. It is one look-up for each reference, so a query is cheaper for many.
  public func fetch<Target: Entity>(_ reference: Reference<Target>) throws -> Target? {
    try fetch(Target.self, id: reference.id)
  }

  private func row<Result>(
    _ shape: TypeShape, _ id: String, _ read: (PreparedStatement) throws -> Result?
  ) throws -> Result? {
    guard let shards = shape.shards else {
      return try files.index.lookUp(shape.slot, sql: shape.bySQL) { statement in
        statement.bind(id, at: 1)
        return try statement.step() ? read(statement) : nil
      }
    }
    guard let place = try locate(shape, id) else { return nil }
    return try files.shard(shards.files[place.shard]).lookUp(shape.slot, sql: shape.bySQL) { statement in
      statement.bind(place.row, at: 1)
      return try statement.step() ? read(statement) : nil
    }
  }

  /// Returns the shard and the row of an id, or `nil`.
  func locate(_ shape: TypeShape, _ id: String) throws -> (shard: Int, row: Int64)? {
    let found: (shard: Int64, row: Int64)? = try files.index.lookUp(shape.mapSlot, sql: shape.mapSQL) {
      statement in
      statement.bind(id, at: 1)
      return try statement.step() ? (statement.int(at: 0), statement.int(at: 1)) : nil
    }
    guard let found else { return nil }
    guard let shards = shape.shards, shards.files.indices.contains(Int(found.shard)) else {
      throw BothyError(
        .damagedFile,
        "The index of the pack \(manifest.name) names a shard that is not there. Get or build the pack again."
      )
    }
    return (Int(found.shard), found.row)
  }
}
