/// A local change of one record of a synced type. Changes keep the order of the writes.
package struct Change: Sendable {
  package enum Kind: Sendable { case insert, update, delete }

  package let kind: Kind
  /// The position of the type in `LocalStore.tables`.
  package let table: Int
  package let id: String
  /// The row before the change, or nil for an insert.
  package var before: StoredRow?
  /// The base of the caller's value if others changed the same fields since, or nil.
  package var stale: Stale?

  /// The record as the caller read it, in the fields that both sides changed.
  package struct Stale: Sendable {
    /// A version that the server had before the changes of others.
    package var version: String
    /// The values of the fields at that version, by position.
    package var values: [Int: FieldValue]
    /// The version of the deletion, if others deleted the record.
    package var deletion: String?

    package init(version: String, values: [Int: FieldValue], deletion: String? = nil) {
      (self.version, self.values, self.deletion) = (version, values, deletion)
    }
  }
}

/// A stored row: its values in schema order and the data beside them.
package struct StoredRow: Sendable, Hashable {
  package var values: [FieldValue]
  /// The container, or nil for the type's own.
  package var container: String?
  package var version: String?
  package var unknownFields: String?
  /// The times and the owner. Nil parts keep their values in the row that this one replaces.
  package var metadata = RecordMetadata()

  /// All values by position.
  package var all: [Int: FieldValue] {
    Dictionary(uniqueKeysWithValues: values.enumerated().map { ($0, $1) })
  }

  package init(
    values: [FieldValue], container: String? = nil, version: String? = nil, unknownFields: String? = nil
  ) {
    self.values = values
    self.container = container
    self.version = version
    self.unknownFields = unknownFields
  }
}
