import Foundation
package import GRDB
import Logging

/// The truth on this device: typed records in one SQLite file. Knows nothing of a network.
///
/// A store may be used from any thread. Writes run one after another on the writer's thread; reads see the
/// last committed state and never wait for a write (SQLite's write-ahead log). Several processes may open the
/// same file.
public final class Store: Sendable {
  /// Where the file is; `:memory:` for a store in memory.
  public let path: String
  package let catalog: Catalog
  package let connections: Connections
  package let options: StoreOptions
  let recorder: (any ChangeRecorder)?
  /// Tells whether the path still leads to the file.
  package let file: OpenedFile
  let notices: CommitNotices
  let eventHub = EventHub()
  let running = RunningTransactions()
  /// Nil for a store in memory, and where a damaged file is left.
  let fileCheck: FileCheck?
  /// Where the values of sensitive fields are.
  package let secrets: any SecretStore

  /// The schema that the store was opened with; it never changes while the store is open.
  public var schema: StoreSchema { catalog.schema }

  /// Opens the file at `path`, making it if there is none, and brings it to `schema`: additive changes by
  /// themselves, others by `migrations`, all in one transaction.
  ///
  /// A file that a `SyncedStore` keeps can be read so; writing records of its synced types throws `.readOnly`.
  ///
  /// Throws `StoreError`; whatever it throws, an existing file is as it was.
  public convenience init(
    at path: String, schema: StoreSchema, migrations: [Migration] = [], options: StoreOptions = StoreOptions()
  ) throws {
    try self.init(at: path, schema: schema, migrations: migrations, options: options, recorder: nil)
  }

  /// A store in memory, for tests and previews; gone when it is released.
  public convenience init(inMemory schema: StoreSchema, options: StoreOptions = StoreOptions()) throws {
    try self.init(at: nil, schema: schema, migrations: [], options: options, recorder: nil)
  }

  /// Opens an existing file with the schema it carries. Throws `.cannotOpen` if there is none.
  public convenience init(existing path: String, options: StoreOptions = StoreOptions()) throws {
    try self.init(
      at: path, schema: Self.storedSchema(at: path), migrations: [], options: options, recorder: nil)
  }

  /// Opens a file, or memory when `path` is nil, with a recorder of changes.
  package init(
    at path: String?, schema: StoreSchema, migrations: [Migration], options: StoreOptions,
    recorder: (any ChangeRecorder)?
  ) throws {
    try schema.validate()
    let named = schema.naming(by: migrations)
    try named.validate()
    self.path = path ?? ":memory:"
    self.options = options
    let secrets = options.secrets ?? Self.ownSecrets(path)
    self.secrets = secrets
    connections =
      try path.map { path throws(StoreError) in
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
      let (known, hasConcealed, isCheckDue, kept) = try connections.writer.write { database in
        if let recorder { try TableUpgrade(database: database).run(recorder.tables) }
        let recorder = try recorder ?? SyncedFileGuard(database, path: path)
        let isNew = try !database.tableExists("bothy_meta")
        let (known, hasConcealed) = try Migrator(database: database, recorder: recorder, secrets: secrets)
          .migrate(to: named, steps: migrations, path: path ?? ":memory:")
        let isCheckDue = try fileCheck != nil && FileCheck.claim(in: database) && !isNew
        return (known, hasConcealed, isCheckDue, recorder)
      }
      self.recorder = kept
      file = OpenedFile(path)
      catalog = Catalog(known)
      notices = CommitNotices(
        catalog: catalog, connections: connections, running: running, path: self.path, signals: signals)
      if hasConcealed {
        // Empties the log. Another process that reads holds it back; the log is then emptied by a later checkpoint.
        try? connections.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
      }
      if isCheckDue { fileCheck?.begin() }
    } catch {
      throw StoreError(error, path: self.path)
    }
    tellOfDamagedFiles()
  }

  /// The files that were set aside in this one's place because they were damaged, and that nobody has dealt with since:
  /// work that was never sent may be in them. `SyncedStore.salvage` gets it out. The oldest first.
  public var damagedFiles: [String] { DamagedFile.setAsideFiles(of: path) }

  /// Waits until no check of the whole file is under way.
  package func waitForFileCheck() { fileCheck?.wait() }

  private func tellOfDamagedFiles() {
    guard fileCheck != nil else { return }
    for file in damagedFiles {
      options.logger.warning(
        "A damaged file was set aside and may hold work that was never sent. Salvage or dismiss it.",
        metadata: ["file": "\(file)", "store": "\(path)"])
    }
  }

  /// The schema that the file at `path` carries.
  package static func storedSchema(at path: String) throws -> StoreSchema {
    guard FileManager.default.fileExists(atPath: path) else {
      throw StoreError(.cannotOpen, "There is no database at \(path). Create one with `bothy db create`.")
    }
    do {
      return try Connections.reading(path) { database in
        guard let schema = try storedSchema(in: database) else {
          throw StoreError(.notADatabase, "\(path) is not a Bothy database: it carries no schema.")
        }
        return schema
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// The schema that an open database carries, if it carries one.
  package static func storedSchema(in database: Database) throws -> StoreSchema? {
    try SchemaInstaller.stored(in: database)
  }

  deinit {
    fileCheck?.close()
    notices.close()
    eventHub.finish()
  }

  private static func ownSecrets(_ path: String?) -> any SecretStore {
    if let path { return FileSecretStore(folder: path + "-secrets") }
    return MemorySecretStore()
  }

  /// Closes the file and ends every observation. Later calls throw. Releasing the store does the same.
  public func close() throws {
    fileCheck?.close()
    notices.close()
    eventHub.finish()
    do { try connections.close() } catch { throw StoreError(error, path: path) }
  }
}
