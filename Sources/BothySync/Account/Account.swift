public import BothyStore
import Crypto
import Foundation
import Logging

/// A user who is signed in to a space on this device, with a file of their own.
///
/// `AccountFolder.open` makes it, without a request. Several accounts may be open at once, each with a remote of its own.
///
/// ```swift
/// let account = try accounts.open(AccountID(space: "home", user: "ada"), remote: remote)
/// try await account.store.save(Todo(title: "Buy rope"))
/// await account.store.sync()
/// do {
///   try await account.signOut(.refuseIfPending)
/// } catch let error as BothyError where error.code == .pendingChanges {
///   show("\(error.pendingCount ?? 0) changes are not sent yet.")
/// }
/// ```
public final class Account: Sendable {
  /// The space and the user that the file belongs to.
  package let id: AccountID
  /// The records of the account. After signing out it throws, and its syncs end with `SyncObstacle.signedOut`.
  public let store: SyncedStore

  init(id: AccountID, store: SyncedStore) {
    self.id = id
    self.store = store
  }

  /// The treatment of the file when the user signs out.
  public enum SignOut: Sendable, Hashable {
    /// The file is deleted if it has no pending changes. Otherwise signing out throws `BothyError` `.pendingChanges` with
    /// their number, and the user stays signed in. A damaged file that was neither salvaged nor dismissed counts as
    /// pending.
    case refuseIfPending
    /// The file stays, with its pending changes, until the user signs in again. Anyone who can read the file
    /// can read its records.
    case park
    /// All pending changes are written to a document at this path, readable by this user of the machine alone. The
    /// bytes of blobs are written to a folder beside it. Both are read back, then the file is deleted. Throws
    /// `BothyError` `.pendingSecrets` if values of the secret store are pending, because documents don't contain them.
    /// Throws `.pendingChanges` if a damaged file was neither salvaged nor dismissed.
    case export(to: String)
    /// Exports although values of the secret store are pending. Those are deleted, and their records are drafts when
    /// the document is opened.
    case exportWithoutSecrets(to: String)
    /// The file is deleted, with its pending changes. They can't be restored. Secrets and blobs of the file are
    /// deleted too, and so are its damaged copies and the documents of its pending changes beside it.
    case discard
  }

  /// Signs out: ends syncing, closes the file and treats it as `form` says. A running sync ends after its present
  /// request, and its completed work stays done. `run()` returns. Afterwards the store throws.
  ///
  /// Returns the number of changes that were pending and are now parked, exported or discarded. Throws `BothyError`
  /// `.pendingChanges`, or `.signedOut` for the second of two calls. After any error but `.signedOut` the user is still
  /// signed in. A part of the file that can't be deleted, such as a secret in a locked keychain, throws no error. It is
  /// logged, and deleted when the file is opened again.
  @discardableResult
  public func signOut(_ form: SignOut) async throws -> Int {
    try await store.signOut(form)
  }
}

extension SyncedStore {
  /// Ends syncing, closes the file and treats it as `form` says. See `Account.signOut`.
  ///
  /// Exported or discarded changes are marked so in the file before it is deleted. Other processes don't send them
  /// after that, and an interrupted deletion is finished when the file is opened.
  @discardableResult
  package func signOut(_ form: Account.SignOut) async throws -> Int {
    try await engine.shut {
      if form == .park {
        let count = try pendingCounts().total
        try store.close()
        return count
      }
      let count = try giveUp(form)
      deleting { try store.close() }
      deleting { for key in try store.secrets.keys() { try store.secrets.remove(key) } }
      if form == .discard { deleting { try DatabaseFiles.removeDocuments(of: store.path) } }
      deleting { try DatabaseFiles.removeWithCopies(store.path) }
      return count
    }
  }

  /// Runs a step of the deletion of a file that is marked. An error is logged, because the user is signed out then.
  private func deleting(_ step: () throws -> Void) {
    do { try step() } catch {
      configuration.logger.warning(
        "A part of a signed-out file was not deleted. Open the file again to delete it.",
        metadata: ["file": "\(store.path)", "error": "\(error)"])
    }
  }

  /// Marks the file as signed out, in the transaction that exports the pending changes. Returns their number.
  private func giveUp(_ form: Account.SignOut) throws -> Int {
    if form != .discard, let file = store.damagedFiles.first {
      throw BothyError(
        .pendingChanges,
        "The damaged file \(file) may have changes that are not on the server. Salvage or dismiss it first, or sign "
          + "out by discarding them.")
    }
    var document: String?
    do {
      return try store.write(origin: .remote) { transaction in
        let count = try OutboxQueue.counts(in: transaction).total
        switch form {
        case .refuseIfPending: if count > 0 { throw BothyError(pendingAtSignOut: count) }
        case .export(let path):
          document = try export(to: path, withoutSecrets: false, in: transaction)
        case .exportWithoutSecrets(let path):
          document = try export(to: path, withoutSecrets: true, in: transaction)
        case .park, .discard: break
        }
        try ServerBinding.signOut(in: transaction)
        return count
      }
    } catch {
      // The first error is thrown.
      if let document { try? FileManager.default.removeItem(atPath: document) }
      throw error
    }
  }

  /// Writes the pending changes to a document, and reads it back. Returns its path. If it throws, it leaves no
  /// document.
  private func export(
    to path: String, withoutSecrets: Bool, in transaction: WriteTransaction
  ) throws -> String {
    guard !DatabaseFiles.owns(path, store.path) else {
      throw BothyError(
        .badDocument, "\(path) is one of the database's own files. Give the path of another file.")
    }
    try SecretAttachment.recover(in: transaction)
    var document = try PendingDocument(in: transaction)
    if isGuest { document.owner = nil }
    let count = try document.hold(store.secrets.keys())
    guard count == 0 || withoutSecrets else {
      throw BothyError(
        .pendingSecrets,
        "\(count) pending changes have sensitive values, which no document holds. Release drafts and sync "
          + "first, or export without them: the records are drafts then, to be completed.",
        pendingCount: count)
    }
    try document.write(to: path)
    do {
      try DatabaseFiles.copyBlobs(of: store.path, beside: path)
      guard try PendingDocument(contentsOf: path).isSame(as: document) else {
        throw BothyError(.badDocument, "\(path) is not what was written to it. Export to another place.")
      }
    } catch {
      try? FileManager.default.removeItem(atPath: path)  // the first error is thrown
      throw error
    }
    return path
  }
}

extension BothyError {
  fileprivate init(pendingAtSignOut count: Int) {
    self.init(
      .pendingChanges,
      "\(count) changes are not on the server yet. Release drafts and sync first, or sign out by parking, exporting "
        + "or discarding them.",
      pendingCount: count)
  }
}

extension SyncedStore {
  /// Makes the changes in a document of `signOut(.export)` pending again in the file at `path`. The file is created if
  /// it doesn't exist, and must not be open. Returns false, and changes nothing, if the file has taken the document in
  /// before. Throws the `BothyError`s of `AccountFolder.open`.
  @discardableResult
  package static func restorePending(
    from document: String, into path: String, schema: StoreSchema, migrations: [Migration] = [],
    owner: AccountID? = nil, options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws -> Bool {
    let pending = try PendingDocument(contentsOf: document)
    try pending.check(owner, schema)
    return try pending.restore(
      into: path, of: owner, schema: schema, migrations: migrations, options: options, clock: clock,
      blobsBeside: document)
  }
}

/// The owner of a file's data: one user in one space.
///
/// Each sync names it. A server that knows the token as another user's refuses the request.
///
/// ```swift
/// let ada = AccountID(space: "home", user: "ada")
/// let store = try SyncedStore(at: path, schema: [Todo.self], remote: remote, owner: ada)
/// ```
public struct AccountID: Sendable, Hashable, CustomStringConvertible {
  /// The name of the space on the server: 1 to 128 bytes. It should be that of the remote.
  public var space: String
  /// The name by which the server knows the user, as in the token. Another user's token is refused by the
  /// server.
  public var user: String

  /// Makes an id, without a look-up. An account exists after `AccountFolder.open` has created its file.
  ///
  /// Neither name is checked.
  public init(space: String, user: String) {
    self.space = space
    self.user = user
  }

  public var description: String { "\(user) in \(space)" }

  /// The name of the account's file. It has one length for all accounts, differs between accounts on every file system,
  /// and doesn't reveal the user.
  var fileName: String {
    let digest = SHA256.hash(data: Array("\(space)\u{0}\(user)".utf8))
    return digest.prefix(16).hexadecimal + ".bothy"
  }
}

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

extension Account {
  /// An account whose file is on this device, open or not.
  public struct Parked: Sendable, Hashable {
    /// The space and the user that the file belongs to.
    public var id: AccountID
    /// The path of the database file.
    package var path: String
    /// The numbers of pending changes in the file.
    package var pending: Outbox.Counts

    /// The number of records with pending changes in the file, drafts and rejected ones included, when it was
    /// looked at.
    public var pendingCount: Int { pending.total }
  }
}

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
  /// Opens each file briefly, for reading, on the calling thread. Empty without the folder. Throws if a file
  /// can't be read.
  public func accounts() throws -> [Account.Parked] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".bothy") }
    return try names.sorted().compactMap { try FileOwner.look(at: "\(path)/\($0)") }
  }

  /// Returns the path of an account's file, also if it doesn't exist.
  package func file(of id: AccountID) -> String { "\(path)/\(id.fileName)" }
}
