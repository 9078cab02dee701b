import BothyStore

/// A blob that the server must have before the entry that names it is sent.
struct BlobNeed: Sendable {
  var record: RecordID
  var operation: ChangeKind
  /// The entry's revision when the need was found.
  var revision: Int64
  var blob: Blob
  /// The number of failed tries so far.
  var attempts: Int64

  /// Returns the blobs that a change names and that the server isn't known to have. Costs one look-up for each.
  static func missing(
    _ fields: [String: JSONValue], _ table: TypeTable, now: Int64, in transaction: ReadTransaction
  ) throws -> [(blob: Blob, attempts: Int64)] {
    try table.blobFields.compactMap { name in
      guard let blob = fields[name].flatMap({ Blob($0) }) else { return nil }
      let row = try BlobTable.row(blob.sha256, in: transaction)
      if let row, row.state == .onServer, now - row.confirmed < BlobTable.trust { return nil }
      return (blob, row?.attempts ?? 0)
    }
  }
}
