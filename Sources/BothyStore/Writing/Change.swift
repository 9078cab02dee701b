/// One thing the app did to one record of a synced type, in the order it was done.
package struct Change: Sendable {
  package enum Kind: Sendable { case insert, update, delete }

  package let kind: Kind
  /// The position of the type in `Store.tables`.
  package let table: Int
  package let id: String
  /// The row as it was; nil for an insert.
  package let before: StoredRow?
}

/// A row as it is stored: its values in schema order and what the store keeps beside them.
package struct StoredRow: Sendable, Hashable {
  package var values: [FieldValue]
  /// Nil means the type's own container.
  package var container: String?
  package var version: String?
  package var unknownFields: String?

  package init(
    values: [FieldValue], container: String? = nil, version: String? = nil, unknownFields: String? = nil
  ) {
    self.values = values
    self.container = container
    self.version = version
    self.unknownFields = unknownFields
  }
}
