import BothyStore
import Crypto
import Foundation

/// The owner of a file's data: one user in one space.
public struct AccountID: Sendable, Hashable, CustomStringConvertible {
  /// The name of the space on the server: 1 to 128 bytes.
  public var space: String
  /// The name by which the server knows the user, as in the token.
  public var principal: String

  /// Makes an id, without a look-up. An account exists after `AccountFolder.open` has created its file.
  public init(space: String, principal: String) {
    self.space = space
    self.principal = principal
  }

  public var description: String { "\(principal) in \(space)" }

  /// The name of the account's file. It has one length for all accounts, differs between accounts on every file system,
  /// and doesn't reveal the user.
  var fileName: String {
    let digest = SHA256.hash(data: Array("\(space)\u{0}\(principal)".utf8))
    return digest.prefix(16).map { String(format: "%02x", $0) }.joined() + ".bothy"
  }
}

/// The owner that is stored in a file.
enum FileOwner {
  /// Makes the account the file's owner, or checks that it is. Returns the owner, or `nil` if none was ever set. Throws
  /// `BothyError` `.wrongAccount`.
  static func bind(_ owner: AccountID?, in transaction: WriteTransaction) throws -> AccountID? {
    let stored = try stored(in: transaction)
    guard let owner, owner != stored else { return stored }
    if let stored {
      throw BothyError(
        .wrongAccount,
        "The file belongs to \(stored), not to \(owner). Open the file of that account, or another one.")
    }
    try SyncValues.set("owner.space", owner.space, in: transaction)
    try SyncValues.set("owner.principal", owner.principal, in: transaction)
    return owner
  }

  static func stored(in transaction: ReadTransaction) throws -> AccountID? {
    guard let space = try SyncValues.value("owner.space", in: transaction),
      let principal = try SyncValues.value("owner.principal", in: transaction)
    else { return nil }
    return AccountID(space: space, principal: principal)
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

extension Account {
  /// An account whose file is on this device, open or not.
  public struct Parked: Sendable, Hashable {
    /// The space and the user that the file belongs to.
    public var id: AccountID
    /// The path of the database file.
    package var path: String
    /// The numbers of pending changes in the file.
    public var pending: Outbox.Counts
  }
}
