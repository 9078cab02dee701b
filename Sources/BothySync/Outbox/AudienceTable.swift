import BothyStore

/// The audience of each record, as far as the server has reported it to this device. Pending changes aren't part of it.
///
/// Records without an audience cost one look-up a transaction.
struct AudienceTable {
  private let transaction: WriteTransaction
  private var isEmpty: Bool

  init(_ transaction: WriteTransaction) throws {
    self.transaction = transaction
    isEmpty = try !transaction.has("SELECT 1 FROM bothy_sharing LIMIT 1")
  }

  mutating func set(_ sharing: Audience, of id: RecordID) throws {
    guard !sharing.isEmpty else {
      return isEmpty ? () : try transaction.run("DELETE FROM bothy_sharing WHERE type = ? AND id = ?", id)
    }
    try transaction.run("INSERT OR REPLACE INTO bothy_sharing VALUES (?, ?, ?)", id, sharing.json)
    isEmpty = false
  }

  static func set(_ sharing: Audience, of id: RecordID, in transaction: WriteTransaction) throws {
    var known = try AudienceTable(transaction)
    try known.set(sharing, of: id)
  }

  /// Applies a change that the server has made to the known sharing.
  static func apply(_ change: SharingChange?, to id: RecordID, in transaction: WriteTransaction) throws {
    guard let change, !change.isEmpty else { return }
    try set(change.applied(to: sharing(of: id, in: transaction)), of: id, in: transaction)
  }

  static func sharing(of id: RecordID, in transaction: ReadTransaction) throws -> Audience {
    try transaction.first("SELECT sharing FROM bothy_sharing WHERE type = ? AND id = ?", id) {
      try $0.text(at: 0).map { try Audience(json: $0) }
    } ?? .nobody
  }
}
