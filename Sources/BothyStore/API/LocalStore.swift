import Foundation
package import GRDB
import Logging

/// The local store: typed records in one SQLite file, independent of any network.
///
/// ```swift
/// let store = try LocalStore(at: path, schema: [Todo.self])
/// try await store.write { try $0.insert(Todo(title: "Oil the lamp")) }
/// let todos = try await store.fetch(Todo.where { !$0.done })
/// ```
///
/// A store may be used from any thread. Writes run one after another on the writer's thread. Reads of a file see the
/// last committed state and never wait for a write (SQLite's write-ahead log). Several processes may open one file.
public final class LocalStore: Sendable {
  /// The path of the file, or `:memory:` for a store in memory.
  package let path: String
  package let catalog: Catalog
  package let connections: Connections
  package let options: StoreOptions
  let recorder: (any ChangeRecorder)?
  /// The identity of the file, to detect that it was replaced.
  package let file: OpenedFile
  let notices: CommitNotices
  let eventHub = EventHub()
  let running = RunningTransactions()
  /// The newest changes that this process made to records of synced types.
  package let ownChanges = OwnChanges()
  /// The background check. Nil for a store in memory, and if a damaged file is left in its place.
  let fileCheck: FileCheck?
  /// The store for the values of sensitive fields.
  package let secrets: any SecretStore

  /// The schema that the store was opened with, constant while the store is open.
  package var schema: StoreSchema { catalog.schema }

  /// Opens or creates the file at `path` and converts it to `schema`. Additive changes run automatically, others by
  /// `migrations`, all in one transaction.
  ///
  /// It can also read the file of a `SyncedStore`. Writing records of its synced types then throws `.readOnly`.
  ///
  /// Blocks the calling thread: a few milliseconds for a file of this schema, longer for a migration that reads rows.
  /// The folder must exist. SQLite keeps two more files beside an open one, with the suffixes `-wal` and `-shm`.
  ///
  /// - Parameters:
  ///   - path: The file. Several stores and processes may open it.
  ///   - schema: The types of the app. A file with further types or fields needs steps that drop them.
  ///   - migrations: The steps from all earlier versions. Steps up to the version of the file are skipped.
  ///   - options: Their defaults suit an app. Secrets are stored in the folder `path` with the suffix `-secrets`.
  /// - Throws: `BothyError`, and leaves an existing file unchanged, except that a damaged one is renamed. `.corrupt`
  ///   names its new path, and the next opening creates a new file. If a migration meets the damage, the next opening
  ///   renames the file. `.newerFile` needs a newer app. `.schemaMismatch` names each difference without a step.
  ///   `.migrationFailed` has the error of a step, or names a field that is to be unique over equal values.
  ///   `invalidSchema` names the type and field of a wrong declaration.
  ///   `cannotOpen`, `notADatabase`, `.readOnly`, `.busy` and `.diskFull` name the file.
  public convenience init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [], options: StoreOptions = StoreOptions()
  ) throws {
    try self.init(at: path, schema: schema, migrations: migrations, options: options, recorder: nil)
  }

  /// Creates a store in memory, for tests and previews. It is deleted when it is released.
  ///
  /// One connection serves reads and writes, so they wait for each other, and a write inside a read throws
  /// `nestedWrite`. Sensitive values stay in memory too. Each store has its own content.
  ///
  /// - Throws: `BothyError` `invalidSchema`.
  public convenience init(inMemory schema: StoreSchema, options: StoreOptions = StoreOptions()) throws {
    try self.init(at: nil, schema: schema, migrations: [], options: options, recorder: nil)
  }

  /// Opens an existing file with its stored schema. Throws `cannotOpen` if the file doesn't exist.
  package convenience init(existing path: String, options: StoreOptions = StoreOptions()) throws {
    try self.init(
      at: path, schema: Self.storedSchema(at: path), migrations: [], options: options, recorder: nil)
  }

  /// Opens a file, or a store in memory if `path` is nil, with a recorder of changes.
  package init(
    at path: String?, schema: StoreSchema, migrations: [Migration], options: StoreOptions,
    recorder: (any ChangeRecorder)?
  ) throws {
    try schema.validate()
    let named = try schema.naming(by: migrations).converting(by: migrations)
    try named.validate()
    try Self.check(options.checkedRequests, fit: named)
    self.path = path ?? ":memory:"
    self.options = options
    let secrets = options.secrets ?? Self.ownSecrets(path)
    self.secrets = secrets
    connections =
      try path.map { path throws(BothyError) in
        try Connections(path: path, schemaVersion: schema.version, options: options)
      }
      ?? Connections(inMemory: options)
    let fileCheck =
      options.damagedFile == .setAside ? path.map { FileCheck(path: $0, logger: options.logger) } : nil
    self.fileCheck = fileCheck
    let signals = path.flatMap { [connections] path in
      CommitSignals(path: path, options: options, writer: connections.writer)
    }
    do {
      let replacement = SecretReplacement(in: secrets)
      let (known, hasConcealed, isCheckDue, kept, lead) = try connections.writer.write { database in
        try recorder?.admit(database)
        let tables = recorder.map { TableUpgrade(database: database, recorder: $0) }
        try tables?.run()
        let recorder = try recorder ?? SyncedFileGuard(database, path: path)
        let isNew = try !database.tableExists("bothy_meta")
        let migrator = Migrator(
          database: database, recorder: recorder, secrets: secrets, replacement: replacement)
        let (known, hasConcealed) = try migrator.migrate(
          to: named, steps: migrations, path: path ?? ":memory:")
        try tables?.note()
        let lead = try tables.map { try DeviceTime.lead(in: database, $0.recorder) } ?? 0
        let isCheckDue = try fileCheck != nil && FileCheck.claim(in: database) && !isNew
        return (known, hasConcealed, isCheckDue, recorder, lead)
      } committed: { _, _ in
        replacement.end()
      } undone: {
        replacement.undo(in: $0)
      }
      self.recorder = kept
      file = OpenedFile(path)
      catalog = Catalog(known, scans: Self.scanLog(options))
      notices = CommitNotices(
        catalog: catalog, connections: connections, running: running, signals: signals,
        known: { [path = self.path] in Self.known($0, path, fileCheck) })
      ownChanges.others.setLead(lead)
      if hasConcealed {
        // Empties the log. If another process that reads prevents it, a later checkpoint empties the log.
        try? connections.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
      }
      if isCheckDue { fileCheck?.begin() }
    } catch {
      if let path, fileCheck != nil, DamagedFile.isReported(by: error) { DamagedFile.suspect(path) }
      throw BothyError(error, path: self.path)
    }
    tellOfDamagedFiles()
  }

  /// The quarantined files of this store that the app has not handled yet, the oldest first. They may contain changes
  /// that were never sent. `StoreMaintenance.salvage` recovers those.
  package var damagedFiles: [String] { DamagedFile.setAsideFiles(of: path) }

  /// Waits until no check of the whole file is running.
  package func waitForFileCheck() { fileCheck?.wait() }

  private func tellOfDamagedFiles() {
    guard fileCheck != nil else { return }
    for file in damagedFiles {
      options.logger.warning(
        "A damaged file was quarantined. It may have changes that were never sent. Salvage or dismiss it.",
        metadata: ["file": "\(file)", "store": "\(path)"])
    }
  }

  /// Returns the schema stored in the file at `path`.
  package static func storedSchema(at path: String) throws -> StoreSchema {
    guard FileManager.default.fileExists(atPath: path) else {
      throw BothyError(.cannotOpen, "No database exists at \(path). Create one with `bothy db create`.")
    }
    do {
      return try Connections.reading(path) { database in
        guard let schema = try storedSchema(in: database) else {
          throw BothyError(.notADatabase, "\(path) is not a Bothy database: it carries no schema.")
        }
        return schema
      }
    } catch {
      throw BothyError(error, path: path)
    }
  }

  /// Returns the schema stored in an open database, or nil.
  package static func storedSchema(in database: Database) throws -> StoreSchema? {
    try SchemaInstaller.stored(in: database)
  }

  deinit {
    fileCheck?.close()
    notices.close()
    eventHub.finish()
  }

  /// Reads requests from an empty store of the schema, in debug builds. Throws the error of the first that doesn't fit.
  private static func check(_ requests: [any ReadRequest], fit schema: StoreSchema) throws {
    #if DEBUG
      if requests.isEmpty { return }
      let empty = try LocalStore(inMemory: schema)
      for (number, request) in requests.enumerated() {
        do { try empty.read { _ = try $0.fetch(request) } } catch let error as BothyError {
          let place = "Request \(number + 1) of those that the options check doesn't fit the schema."
          throw BothyError(error.code, "\(place) \(error.message)", underlying: error)
        }
      }
    #endif
  }

  /// The warnings of scans. A debug build costs a look at SQLite's counters for each query.
  private static func scanLog(_ options: StoreOptions) -> ScanLog? {
    #if DEBUG
      return ScanLog(options.logger)
    #else
      return nil
    #endif
  }

  /// Returns the store of secrets of a file that is opened without one.
  package static func ownSecrets(_ path: String?) -> any SecretStore {
    if let path { return FileSecretStore(folder: path + "-secrets") }
    return MemorySecretStore()
  }

  /// Closes the file and ends every observation. Later calls throw. Releasing the store has the same effect.
  ///
  /// Waits for the calls that are running, so don't call it inside a closure of `read` or `write`. Calls that begin
  /// later throw `BothyError` `database`. A second call does nothing.
  public func close() throws {
    fileCheck?.close()
    notices.close()
    eventHub.finish()
    do { try connections.close() } catch { throw BothyError(error, path: path) }
  }
}
