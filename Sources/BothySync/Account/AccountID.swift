import BothyStore
import Crypto
import Foundation
import GRDB

/// Whose data a file holds: one principal in one space.
public struct AccountID: Sendable, Hashable, CustomStringConvertible {
  /// The name of the space on the server: 1 to 128 bytes.
  public var space: String
  /// The name by which the server knows the user, that of the token.
  public var principal: String

  /// Looks nothing up: an account is there once `AccountFolder.open` has made its file.
  public init(space: String, principal: String) {
    self.space = space
    self.principal = principal
  }

  public var description: String { "\(principal) in \(space)" }

  /// A name for the account's file: as long for every account, different for different ones on every file system,
  /// and telling nobody who it is.
  var fileName: String {
    let digest = SHA256.hash(data: Array("\(space)\u{0}\(principal)".utf8))
    return digest.prefix(16).map { String(format: "%02x", $0) }.joined() + ".bothy"
  }
}

/// The owner that is kept in a file.
enum FileOwner {
  /// Makes the file the owner's, or finds that it is. Returns whose it is; nil if nobody ever said.
  /// Throws `SyncError` `.wrongAccount`.
  static func bind(_ owner: AccountID?, in transaction: WriteTransaction) throws -> AccountID? {
    let stored = try stored(in: transaction)
    guard let owner, owner != stored else { return stored }
    if let stored {
      throw SyncError(
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

  /// Whose a file is and how much is pending in it, read without opening it as a store; nil for other files.
  static func look(at path: String) throws -> ParkedAccount? {
    try Connections.reading(path) { database in
      guard try database.tableExists("bothy_sync") else { return nil }
      let transaction = ReadTransaction(database, Catalog(StoreSchema(types: [])))
      guard let owner = try stored(in: transaction) else { return nil }
      return ParkedAccount(id: owner, path: path, pending: try Outbox.counts(in: transaction))
    }
  }
}

/// An account whose file is here, open or not.
public struct ParkedAccount: Sendable, Hashable {
  /// The space and the principal that the file belongs to.
  public var id: AccountID
  /// Where the database file lies.
  public var path: String
  /// What waits in it to be sent.
  public var pending: PendingCounts
}
