internal import GRDBSQLite

/// A 64-bit hash of the values of a result, in their order. It detects a changed result without storing the result.
///
/// Two different results have the same fingerprint once in 2⁶⁴. Fingerprints differ between processes.
package struct RowFingerprint: Sendable {
  private var hasher = Hasher()

  package init() {}

  package var value: Int { hasher.finalize() }

  /// Adds the current row of a statement: the raw values of all its columns. Allocates nothing.
  package mutating func combine(row statement: PreparedStatement) {
    let row = statement.pointer
    let count = sqlite3_column_count(row)
    hasher.combine(count)
    for column in 0..<count {
      let type = sqlite3_column_type(row, column)
      hasher.combine(type)
      switch type {
      case SQLITE_INTEGER: hasher.combine(sqlite3_column_int64(row, column))
      case SQLITE_FLOAT: hasher.combine(sqlite3_column_double(row, column).bitPattern)
      case SQLITE_NULL: break
      default:
        let start = sqlite3_column_blob(row, column)
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column)))
        hasher.combine(bytes.count)
        hasher.combine(bytes: bytes)
      }
    }
  }

  /// Adds the fields of an entity.
  package mutating func combine<E: Entity>(_ entity: E) {
    var encoder = FieldEncoder(gathering: E.schema.fields.count)
    entity.encode(to: &encoder)
    hasher.combine(entity.id)
    hasher.combine(encoder.values)
  }

  package mutating func combine(_ value: some Hashable) { hasher.combine(value) }
}
