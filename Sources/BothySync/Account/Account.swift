import BothyStore
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
        try ServerBinding.signOut(isDiscarding: form == .discard, in: transaction)
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
    let changes = count == 1 ? "1 change is" : "\(count) changes are"
    self.init(
      .pendingChanges,
      "\(changes) not on the server yet. Release drafts and sync first, or sign out by parking, exporting "
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
