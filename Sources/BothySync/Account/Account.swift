public import BothyStore
import Foundation

/// A principal who is signed in to a space on this device, with the file that is theirs alone.
public final class Account: Sendable {
  /// The space and the principal that the file belongs to.
  public let id: AccountID
  /// The records of the account. After signing out it throws.
  public let store: SyncedStore

  init(id: AccountID, store: SyncedStore) {
    self.id = id
    self.store = store
  }

  /// What becomes of the file when the user signs out.
  public enum SignOut: Sendable, Hashable {
    /// Nothing is given up: when anything is pending it throws `SyncError` `.pendingChanges` with its count, and the
    /// user stays signed in. Otherwise the file goes.
    case refuseIfPending
    /// The file stays, with what is pending in it, until the user comes back.
    case park
    /// All that is pending is written to a document at this path, readable by this user of the machine alone, the bytes
    /// of blobs to a folder beside it, and both are read back; then the file goes. Throws `SyncError` `.pendingSecrets`
    /// when values of the secret store wait to be sent: no document holds them.
    case export(to: String)
    /// Exports though values of the secret store wait: they go, and their records are drafts when the document is opened.
    case exportWithoutSecrets(to: String)
    /// The file goes, with what is pending in it.
    case discard
  }

  /// Signs out: syncing ends, the file is closed and is dealt with as `form` says. A sync that is running ends after
  /// its present request, and all it has done counts. `run()` returns. Afterwards the store throws.
  ///
  /// Returns how many changes were pending: now parked, exported or discarded. Throws `SyncError` `.pendingChanges`,
  /// or `.signedOut` for the second of two calls; when anything is thrown but that, the user is still signed in.
  @discardableResult
  public func signOut(_ form: SignOut) async throws -> Int {
    try await store.signOut(form)
  }
}

extension SyncedStore {
  /// Ends syncing, closes the file and deals with it as `form` says; see `Account.signOut`.
  ///
  /// What is exported or given up is marked so in the file before that is removed: no other process sends it then, and a
  /// removal that was cut short is finished when the file is opened.
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

  /// Marks the file as signed out, in the transaction that exports what is pending. Returns how much that is.
  private func giveUp(_ form: Account.SignOut) throws -> Int {
    var document: String?
    do {
      return try store.write(origin: .remote) { transaction in
        let count = try Outbox.counts(in: transaction).total
        switch form {
        case .refuseIfPending: if count > 0 { throw SyncError(pendingAtSignOut: count) }
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
      // The first error is the one to tell.
      if let document { try? FileManager.default.removeItem(atPath: document) }
      throw error
    }
  }

  /// Writes what is pending to a document, and reads it back. Returns its path; when it throws, no document is left.
  private func export(to path: String, withoutSecrets: Bool, in transaction: ReadTransaction) throws -> String
  {
    guard !DatabaseFiles.owns(path, store.path) else {
      throw SyncError(
        .badDocument, "\(path) is one of the database's own files. Give the path of another file.")
    }
    var document = try PendingDocument(in: transaction)
    let waiting = try Set(store.secrets.keys().map(\.record))
    let secret = document.entries.indices.filter { waiting.contains(document.entries[$0].record) }
    guard secret.isEmpty || withoutSecrets else {
      var error = SyncError(
        .pendingSecrets,
        "\(secret.count) pending changes have sensitive values, which no document holds. Sync first, or export without "
          + "them: the records are drafts then, to be completed.")
      error.pendingCount = secret.count
      throw error
    }
    for index in secret {
      document.entries[index].columns["state"] = .int(Int64(OutboxEntry.State.held.rawValue))
    }
    try document.write(to: path)
    do {
      try DatabaseFiles.copyBlobs(of: store.path, beside: path)
      guard try PendingDocument(contentsOf: path).isSame(as: document) else {
        throw SyncError(.badDocument, "\(path) is not what was written to it. Export to another place.")
      }
    } catch {
      try? FileManager.default.removeItem(atPath: path)  // the first error is the one to tell
      throw error
    }
    return path
  }
}

extension SyncError {
  fileprivate init(pendingAtSignOut count: Int) {
    self.init(
      .pendingChanges,
      "\(count) changes are not on the server yet. Sync first, or sign out by parking, exporting or discarding them."
    )
    pendingCount = count
  }
}

extension SyncedStore {
  /// Makes pending again, in the file at `path`, what `signOut(.export)` wrote; the file is made if there is none and
  /// must not be open. Throws `SyncError` as `AccountFolder.open` does.
  public static func restorePending(
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
