public import BothyStore
import Foundation

/// The accounts of this device: a folder with one database file for each pair of space and user. The changes of a user
/// are never sent with another's token, and other users don't see them.
public struct AccountFolder: Sendable {
  /// The path of the folder, as given. The folder doesn't exist before the first account is opened.
  package let path: String
  private let schema: StoreSchema
  private let migrations: [Migration]
  private let configuration: SyncOptions
  private let options: StoreOptions
  private let clock: @Sendable () -> SyncClock

  /// - Parameters:
  ///   - path: The folder. It is created when the first account is opened.
  ///   - clock: Makes the clock of each file that is opened.
  public init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions(), options: StoreOptions = StoreOptions(),
    clock: @escaping @Sendable () -> SyncClock = { SyncClock() }
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
  ///   - document: A document that `signOut(.export)` wrote for this account. Its changes become pending again. Throws
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

  /// Returns the accounts whose files are in the folder, with their pending changes. Opens each file briefly, for
  /// reading. Throws if a file can't be read.
  public func accounts() throws -> [Account.Parked] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".bothy") }
    return try names.sorted().compactMap { try FileOwner.look(at: "\(path)/\($0)") }
  }

  /// Returns the path of an account's file, also if it doesn't exist.
  package func file(of id: AccountID) -> String { "\(path)/\(id.fileName)" }
}
