package import BothyStore
import Foundation

/// A user who is signed in to a space on this device, with a file of their own.
public final class Account: Sendable {
  /// The space and the user that the file belongs to.
  package let id: AccountID
  /// The records of the account. After signing out it throws.
  public let store: SyncedStore

  init(id: AccountID, store: SyncedStore) {
    self.id = id
    self.store = store
  }

  /// The treatment of the file when the user signs out.
  public enum SignOut: Sendable, Hashable {
    /// The file is deleted if it has no pending changes. Otherwise signing out throws `BothyError` `.pendingChanges` with
    /// their number, and the user stays signed in.
    case refuseIfPending
    /// The file stays, with its pending changes, until the user signs in again.
    case park
    /// All pending changes are written to a document at this path, readable by this user of the machine alone. The
    /// bytes of blobs are written to a folder beside it. Both are read back, then the file is deleted. Throws
    /// `BothyError` `.pendingSecrets` if values of the secret store are pending, because documents don't contain them.
    case export(to: String)
    /// Exports although values of the secret store are pending. Those are deleted, and their records are drafts when
    /// the document is opened.
    case exportWithoutSecrets(to: String)
    /// The file is deleted, with its pending changes.
    case discard
  }

  /// Signs out: ends syncing, closes the file and treats it as `form` says. A running sync ends after its present
  /// request, and its completed work stays done. `run()` returns. Afterwards the store throws.
  ///
  /// Returns the number of changes that were pending and are now parked, exported or discarded. Throws `BothyError`
  /// `.pendingChanges`, or `.signedOut` for the second of two calls. After any error but `.signedOut` the user is still
  /// signed in.
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
  public func signOut(_ form: Account.SignOut) async throws -> Int {
    try await engine.shut {
      if form == .park {
        let count = try pendingCounts().total
        try store.close()
        return count
      }
      let count = try giveUp(form)
      let secrets = store.secrets
      try store.close()
      for key in try secrets.keys() { try secrets.remove(key) }
      try DatabaseFiles.remove(store.path)
      return count
    }
  }

  /// Marks the file as signed out, in the transaction that exports the pending changes. Returns their number.
  private func giveUp(_ form: Account.SignOut) throws -> Int {
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
  private func export(to path: String, withoutSecrets: Bool, in transaction: ReadTransaction) throws -> String
  {
    guard !DatabaseFiles.owns(path, store.path) else {
      throw BothyError(
        .badDocument, "\(path) is one of the database's own files. Give the path of another file.")
    }
    var document = try PendingDocument(in: transaction)
    let waiting = try Set(store.secrets.keys().map(\.record))
    let secret = document.entries.indices.filter { waiting.contains(document.entries[$0].record) }
    guard secret.isEmpty || withoutSecrets else {
      var error = BothyError(
        .pendingSecrets,
        "\(secret.count) pending changes have sensitive values, which no document holds. Sync first, or export without "
          + "them: the records are drafts then, to be completed.")
      error.pendingCount = secret.count
      throw error
    }
    for index in secret {
      document.entries[index].columns["state"] = .int(Int64(Outbox.Entry.State.held.rawValue))
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
      "\(count) changes are not on the server yet. Sync first, or sign out by parking, exporting or discarding them."
    )
    pendingCount = count
  }
}

extension SyncedStore {
  /// Makes the changes in a document of `signOut(.export)` pending again in the file at `path`. The file is created if
  /// it doesn't exist, and must not be open. Throws the `BothyError`s of `AccountFolder.open`.
  package static func restorePending(
    from document: String, into path: String, schema: StoreSchema, migrations: [Migration] = [],
    owner: AccountID? = nil, options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws {
    let pending = try PendingDocument(contentsOf: document)
    try pending.check(owner, schema)
    try DatabaseFiles.copyBlobs(from: document, to: path)
    try pending.restore(
      into: path, of: owner, schema: schema, migrations: migrations, options: options, clock: clock)
  }
}
