import BothyStore

/// The audience of each record, as far as the server has reported it to this device. Pending changes aren't part of it.
///
/// Records without an audience cost one look-up a transaction.
struct AudienceTable {
  private let transaction: WriteTransaction
  private var isEmpty: Bool

  init(_ transaction: WriteTransaction) throws {
    self.transaction = transaction
    let select = try PreparedStatement("SELECT 1 FROM bothy_sharing LIMIT 1", in: transaction.database)
    defer { select.reset() }
    isEmpty = try !select.step()
  }

  mutating func set(_ sharing: Audience, of id: RecordID) throws {
    if sharing.isEmpty && isEmpty { return }
    let statement = try PreparedStatement(
      sharing.isEmpty
        ? "DELETE FROM bothy_sharing WHERE type = ?1 AND id = ?2"
        : "INSERT OR REPLACE INTO bothy_sharing VALUES (?1, ?2, ?3)", in: transaction.database)
    statement.bind(id.type, at: 1)
    statement.bind(id.id, at: 2)
    if !sharing.isEmpty { statement.bind(sharing.json, at: 3) }
    try statement.run()
    if !sharing.isEmpty { isEmpty = false }
  }

  /// Applies a change that the server has made to the known sharing.
  static func apply(_ change: SharingChange?, to id: RecordID, in transaction: WriteTransaction) throws {
    guard let change, !change.isEmpty else { return }
    var known = try AudienceTable(transaction)
    try known.set(change.applied(to: sharing(of: id, in: transaction)), of: id)
  }

  static func sharing(of id: RecordID, in transaction: ReadTransaction) throws -> Audience {
    let select = try PreparedStatement(
      "SELECT sharing FROM bothy_sharing WHERE type = ? AND id = ?", in: transaction.database)
    select.bind(id.type, at: 1)
    select.bind(id.id, at: 2)
    defer { select.reset() }
    guard try select.step(), let text = select.text(at: 0) else { return .nobody }
    return try Audience(json: text)
  }
}
