import BothyStore
import Foundation

/// The accounts of this device: a folder with one database file for each pair of space and user. The changes of a user
/// are never sent with another's token, and other users don't see them.
///
/// ```swift
/// let accounts = AccountFolder(at: path, schema: [Todo.self])
/// let ada = try accounts.open(AccountID(space: "home", user: "ada"), remote: remote)
/// for parked in try accounts.accounts() { show("\(parked.id): \(parked.pendingCount) changes wait") }
/// ```
public struct AccountFolder: Sendable {
  /// The path of the folder, as given. The folder doesn't exist before the first account is opened.
  package let path: String
  private let schema: StoreSchema
  private let migrations: [Migration]
  private let configuration: SyncOptions
  private let options: StoreOptions
  private let clock: @Sendable () -> SyncClock

  /// Makes the folder's value. Touches no file, so it doesn't fail.
  ///
  /// - Parameters:
  ///   - path: The folder. It is created when the first account is opened.
  ///   - configuration: The options of each store that is opened.
  ///   - options: The options of each file. Without `secrets` each account has a folder of its own for them. One store of
  ///     secrets can't serve several accounts.
  public init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions(), options: StoreOptions = StoreOptions()
  ) {
    self.init(
      at: path, schema: schema, migrations: migrations, configuration: configuration, options: options,
      clock: { SyncClock() })
  }

  /// Makes the folder's value, with a function that makes the clock of each file that is opened.
  package init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions(), options: StoreOptions = StoreOptions(),
    clock: @escaping @Sendable () -> SyncClock
  ) {
    self.path = path
    self.schema = schema
    self.migrations = migrations
    self.configuration = configuration
    self.options = options
    self.clock = clock
  }

  /// Opens an account's file, and creates it the first time. Changes that were pending when the file was parked are
  /// pending again, and the next sync sends them. Makes no request. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - remote: The server, with the token of this user.
  ///   - document: A document that `signOut(.export)` wrote for this account. Its changes become pending again, once:
  ///     the file ignores a document that it has taken in before. Another device doesn't know of that. Throws
  ///     `BothyError` `wrongAccount`, `badDocument`, or `.pendingChanges` if the file has pending changes of its own
  ///     to the document's records.
  public func open(
    _ id: AccountID, remote: any RemoteStorage, importing document: String? = nil
  ) throws -> Account {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let file = file(of: id)
    if let document {
      try SyncedStore.restorePending(
        from: document, into: file, schema: schema, migrations: migrations, owner: id, options: options,
        clock: clock())
    }
    let store = try SyncedStore(
      at: file, schema: schema, migrations: migrations, remote: remote, owner: id,
      configuration: configuration,
      options: options, clock: clock())
    return Account(id: id, store: store)
  }

  /// Returns the accounts whose files are in the folder, with their pending changes. In the order of the files'
  /// names, which don't reveal the users.
  ///
  /// Opens each file briefly, for reading, on the calling thread. Leaves out a file whose deletion by signing out was
  /// interrupted. Empty without the folder. Throws if a file can't be read.
  public func accounts() throws -> [Account.Parked] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".bothy") }
    return try names.sorted().compactMap { try FileOwner.look(at: "\(path)/\($0)") }
  }

  /// Returns the path of an account's file, also if it doesn't exist.
  package func file(of id: AccountID) -> String { "\(path)/\(id.fileName)" }
}
