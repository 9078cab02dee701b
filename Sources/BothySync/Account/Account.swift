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
    /// of blobs to a folder beside it; then the file goes. Values in the secret store are not written.
    case export(to: String)
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
  @discardableResult
  public func signOut(_ form: Account.SignOut) async throws -> Int {
    try await engine.shut {
      let count = try pendingCounts().total
      switch form {
      case .refuseIfPending:
        guard count == 0 else {
          var error = SyncError(
            .pendingChanges,
            "\(count) changes are not on the server yet. Sync first, or sign out by parking, exporting or discarding them."
          )
          error.pendingCount = count
          throw error
        }
      case .export(let path): try PendingDocument(of: store).write(to: path)
      case .park, .discard: break
      }
      try store.close()
      if case .export(let path) = form { try DatabaseFiles.moveBlobs(of: store.path, to: path) }
      if form != .park {
        for key in try store.secrets.keys() { try store.secrets.remove(key) }
        try DatabaseFiles.remove(store.path)
      }
      return count
    }
  }
}

extension SyncedStore {
  /// Makes pending again, in the file at `path`, what `signOut(.export)` wrote; the file is made if there is none and
  /// must not be open. Throws `SyncError` as `AccountFolder.open` does.
  public static func restorePending(
    from document: String, into path: String, schema: Schema, migrations: [Migration] = [],
    owner: AccountID? = nil, options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws {
    let pending = try PendingDocument(contentsOf: document)
    try pending.check(owner, schema)
    try DatabaseFiles.copyBlobs(from: document, to: path)
    try pending.restore(
      into: path, of: owner, schema: schema, migrations: migrations, options: options, clock: clock)
  }
}

/// The files that belong to a database: its own and those named after it.
enum DatabaseFiles {
  private static let blobs = "-blobs"

  /// Moves the bytes of blobs beside a document of pending work.
  static func moveBlobs(of path: String, to document: String) throws {
    let manager = FileManager.default
    guard manager.fileExists(atPath: path + blobs), !manager.fileExists(atPath: document + blobs) else {
      return
    }
    try manager.moveItem(atPath: path + blobs, toPath: document + blobs)
  }

  /// Copies the bytes of blobs from beside a document; those that are there are the same.
  static func copyBlobs(from document: String, to path: String) throws {
    let manager = FileManager.default
    guard let names = manager.enumerator(atPath: document + blobs) else { return }
    for case let name as String in names {
      let (source, target) = ("\(document)\(blobs)/\(name)", "\(path)\(blobs)/\(name)")
      var isFolder: ObjCBool = false
      guard manager.fileExists(atPath: source, isDirectory: &isFolder), !manager.fileExists(atPath: target)
      else {
        continue
      }
      if isFolder.boolValue {
        try manager.createDirectory(atPath: target, withIntermediateDirectories: true)
      } else {
        try manager.copyItem(atPath: source, toPath: target)
      }
    }
  }

  static func remove(_ path: String) throws {
    guard path != ":memory:" else { return }
    let url = URL(fileURLWithPath: path)
    let name = url.lastPathComponent
    let folder = url.deletingLastPathComponent().path
    // The database itself goes first: what is left of the others without it is nobody's data.
    try FileManager.default.removeItem(atPath: path)
    for other in try FileManager.default.contentsOfDirectory(atPath: folder) where other.hasPrefix(name + "-")
    {
      try FileManager.default.removeItem(atPath: "\(folder)/\(other)")
    }
  }
}
