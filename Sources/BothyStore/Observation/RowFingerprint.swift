internal import GRDBSQLite

import struct Foundation.Data

/// A 64-bit hash of the values of a result, in their order. It detects a changed result without storing the result.
///
/// Two different results have the same fingerprint once in 2⁶⁴. Fingerprints differ between processes.
package struct RowFingerprint: Sendable {
  private var hasher = Hasher()

  package init() {}

  package var value: Int { hasher.finalize() }

  /// Adds the current row of a statement: the raw values of all its columns. Allocates nothing.
  package mutating func combine(row statement: PreparedStatement) {
    combine(row: statement, 0..<statement.columnCount)
  }

  /// Adds some columns of the current row of a statement.
  mutating func combine(row statement: PreparedStatement, _ columns: Range<Int32>) {
    let row = statement.pointer
    hasher.combine(columns.count)
    for column in columns {
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
    combine(bytesOf: entity.id)
    for value in encoder.values { combine(bytesOf: value) }
  }

  /// Adds the fields of an entity, and the version that a save of it compares with.
  mutating func combine<E: Entity>(marked entity: E) {
    combine(entity)
    // A type that leaves its mark as made has a new one at each read, below 0.
    hasher.combine(max(entity.readMark.number, -1))
  }

  /// Adds a value of a field. Swift's hash of a text is the same for two spellings of a letter, and that of data takes
  /// the first 80 bytes alone, so all bytes are added.
  package mutating func combine(bytesOf value: FieldValue) {
    // The hash of a null value is a zero, as is the length of an empty one.
    hasher.combine(value.isNull)
    switch value {
    case .text(let text), .json(let text): combine(bytesOf: text)
    case .data(let data):
      hasher.combine(data.count)
      data.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .list(let ids):
      hasher.combine(ids.count)
      for id in ids { combine(bytesOf: id) }
    default: hasher.combine(value)
    }
  }

  private mutating func combine(bytesOf text: String) {
    hasher.combine(text.utf8.count)
    for byte in text.utf8 { hasher.combine(byte) }
  }

  package mutating func combine(_ value: some Hashable) { hasher.combine(value) }
}
