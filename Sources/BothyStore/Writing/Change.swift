/// One thing the app did to one record of a synced type, in the order it was done.
package struct Change: Sendable {
  package enum Kind: Sendable { case insert, update, delete }

  package let kind: Kind
  /// The position of the type in `Store.tables`.
  package let table: Int
  package let id: String
  /// The row as it was; nil for an insert.
  package let before: StoredRow?
  /// What the caller's value is about where others changed the same fields since; nil where they did not.
  package var stale: Stale?

  /// The record as it was read, in the fields that both sides changed.
  package struct Stale: Sendable {
    /// A version that the server had before their changes.
    package var version: String
    /// The fields as they were then, by position.
    package var values: [Int: FieldValue]
    /// The version of their deletion, where they deleted the record.
    package var deletion: String?

    package init(version: String, values: [Int: FieldValue], deletion: String? = nil) {
      (self.version, self.values, self.deletion) = (version, values, deletion)
    }
  }
}

/// A row as it is stored: its values in schema order and what the store keeps beside them.
package struct StoredRow: Sendable, Hashable {
  package var values: [FieldValue]
  /// Nil means the type's own container.
  package var container: String?
  package var version: String?
  package var unknownFields: String?
  /// Times and owner. Parts that are nil stay as they are in the row that this one replaces.
  package var metadata = RecordMetadata()

  package init(
    values: [FieldValue], container: String? = nil, version: String? = nil, unknownFields: String? = nil
  ) {
    self.values = values
    self.container = container
    self.version = version
    self.unknownFields = unknownFields
  }
}
