public import BothyStore
import Foundation

/// The accounts of this device: a folder with one database file for each (space, principal), so that what one user
/// wrote is never sent with another's token nor seen by another.
public struct AccountFolder: Sendable {
  /// The folder, as it was given; it is not there before the first account is opened.
  public let path: String
  private let schema: StoreSchema
  private let migrations: [Migration]
  private let configuration: SyncConfiguration
  private let options: StoreOptions
  private let clock: @Sendable () -> SyncClock

  /// - Parameters:
  ///   - path: The folder; made when the first account is opened.
  ///   - clock: Makes the clock of each file that is opened.
  public init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncConfiguration = SyncConfiguration(), options: StoreOptions = StoreOptions(),
    clock: @escaping @Sendable () -> SyncClock = { SyncClock() }
  ) {
    self.path = path
    self.schema = schema
    self.migrations = migrations
    self.configuration = configuration
    self.options = options
    self.clock = clock
  }

  /// Opens an account's file, making it the first time. What was pending when it was parked is there again, and goes
  /// with the next sync. Makes no request. Throws `StoreError`.
  ///
  /// - Parameters:
  ///   - remote: The server, with the token of this principal.
  ///   - document: A document that `signOut(.export)` wrote for this account: what was pending then is pending again.
  ///     Throws `SyncError` `.wrongAccount`, `.badDocument`, or `.pendingChanges` when the file has pending changes of
  ///     its own to the same records.
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

  /// The accounts whose files are here, with what is pending in each. Opens each file for a moment, for reading. Throws
  /// for a file that can't be read.
  public func accounts() throws -> [ParkedAccount] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".bothy") }
    return try names.sorted().compactMap { try FileOwner.look(at: "\(path)/\($0)") }
  }

  /// Where an account's file is, or would be.
  public func file(of id: AccountID) -> String { "\(path)/\(id.fileName)" }
}
