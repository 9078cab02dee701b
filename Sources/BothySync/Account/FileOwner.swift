import BothyStore

/// The owner that is stored in a file.
enum FileOwner {
  /// Makes the account the file's owner, or checks that it is. Returns the owner, or `nil` if none was ever set. Throws
  /// `BothyError` `wrongAccount`.
  static func bind(_ owner: AccountID?, in transaction: WriteTransaction) throws -> AccountID? {
    let stored = try check(owner, in: transaction)
    guard let owner, stored == nil else { return stored }
    try SyncValues.set("owner.space", owner.space, in: transaction)
    try SyncValues.set("owner.principal", owner.user, in: transaction)
    return owner
  }

  /// Returns the owner of a file, or `nil` if none was ever set. Throws `BothyError` `wrongAccount` for another one than
  /// `owner`.
  static func check(_ owner: AccountID?, in transaction: ReadTransaction) throws -> AccountID? {
    let stored = try stored(in: transaction)
    guard let owner, let stored, owner != stored else { return stored }
    throw BothyError(
      .wrongAccount,
      "The file belongs to \(stored), not to \(owner). Open the file of that account, or another one.")
  }

  static func stored(in transaction: ReadTransaction) throws -> AccountID? {
    guard let space = try SyncValues.value("owner.space", in: transaction),
      let user = try SyncValues.value("owner.principal", in: transaction)
    else { return nil }
    return AccountID(space: space, user: user)
  }

  /// Returns the owner of a file and the number of its pending changes. It doesn't open the file as a store, and
  /// returns `nil` for other files.
  static func look(at path: String) throws -> Account.Parked? {
    try SyncValues.reading(path) { transaction in
      guard let owner = try stored(in: transaction) else { return nil }
      return Account.Parked(id: owner, path: path, pending: try OutboxQueue.counts(in: transaction))
    }
  }
}
