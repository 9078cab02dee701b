public import BothyStore
public import Foundation
import Logging

/// A store that is kept in agreement with a server.
///
/// Reads return the local file's content, with pending changes. A read policy can send a request first. A save is
/// durable here before it is sent. `sync()` syncs once, and `run()` syncs by itself.
///
/// ```swift
/// let store = try SyncedStore(at: path, schema: [Todo.self], remote: remote)
/// try await store.save(Todo(title: "Buy milk"))
/// await store.sync()
/// ```
///
/// Several stores may use one file, in one process or in several. Each observes the others' commits, and one syncs at a
/// time. `StoreOptions.Processes.single` says that no other store exists. One that exists is then not observed.
///
/// Every call may be made from any task or thread. One that is not `async` reads or writes the file on the calling
/// thread and makes no request. Calls throw `BothyError` for the file, for the schema and, if they send a request, for
/// the server.
public final class SyncedStore: Sendable {
  /// The local file. Writes through it are recorded and sent like others, under `run()` a second later.
  package let store: LocalStore
  /// The device's clock, with the known offset of the server's.
  package let clock: SyncClock
  let remote: BoundRemote
  let engine: SyncEngine
  let reachability = ReachabilityEstimate()
  let blobFolder: BlobFolder
  let downloads = BlobDownloads()
  let governor: SyncConditions
  let followed: SubscribedScopes
  let presence = AppPresence()
  let opened: SyncOptions
  /// The owner of the file, if one was named.
  package let owner: AccountID?
  /// True without a remote: the work belongs to no user of a server yet.
  let isGuest: Bool
  /// The document of what was pending in a file that did not fit the schema and was created again.
  package let setAside: String?

  /// Opens or creates the file at `path` (nil: in memory), as `LocalStore` does, with what sync keeps beside
  /// it.
  ///
  /// Blocks the calling thread while the file is opened and migrated. Makes no request. Several stores may be
  /// open on one file.
  ///
  /// - Parameter owner: whose file it is. A file belongs to the first owner it is opened for, and the server takes its
  ///   work from no other user.
  /// - Throws: `BothyError`: `wrongAccount` if the file belongs to another user, `schemaMismatch` if a
  ///   migration is missing, `newerFile` for a file of a newer version. After the last two the file stays as it
  ///   was.
  public convenience init(
    at path: String?, schema: StoreSchema, migrations: [Migration] = [], remote: any RemoteStorage,
    owner: AccountID? = nil, configuration: SyncOptions = SyncOptions(),
    options: StoreOptions = StoreOptions()
  ) throws {
    try self.init(
      at: path, schema: schema, migrations: migrations, remote: remote, owner: owner,
      configuration: configuration, options: options, clock: SyncClock())
  }

  /// Opens or creates a file with a clock of its own, which keeps the estimate of the server's clock.
  package init(
    at path: String?, schema: StoreSchema, migrations: [Migration] = [], remote: any RemoteStorage,
    owner: AccountID? = nil, configuration: SyncOptions = SyncOptions(),
    options: StoreOptions = StoreOptions(), clock: SyncClock
  ) throws {
    (store, setAside) = try Self.open(path, schema, migrations, owner, configuration, options, clock)
    self.clock = clock
    self.remote = BoundRemote(
      remote: NamingRemote(remote, store.schema), store: store, reachability: reachability, clock: clock,
      limit: configuration.requestTimeout)
    isGuest = remote is NoRemote
    opened = configuration
    followed = SubscribedScopes(configuration.scopes)
    let governor = SyncConditions(configuration, file: store.file)
    self.governor = governor
    let found: (device: String, owner: AccountID?, scopes: [SyncScope], decided: Int64)
    // Pending changes in a quarantined file may need their secrets when it is salvaged.
    let isSweepDue = store.damagedFiles.isEmpty
    do {
      found = try store.write(origin: .remote) { [schema = store.schema] transaction in
        let owner = try FileOwner.bind(owner, in: transaction)
        if let estimate = try SyncValues.estimate(in: transaction) { clock.restore(estimate) }
        governor.isPaused = try SyncValues.isPaused(in: transaction)
        governor.updateRequired = try SyncValues.updateRequired(at: schema.version, in: transaction)
        try UnrecognizedRecords.adopt(in: transaction)
        try UnreadableTable.retry(in: transaction)
        let scopes = try SubscriptionTable.open(with: configuration.scopes, in: transaction)
        try SecretAttachment.recover(in: transaction)
        try SecretAttachment.sendMoved(in: transaction, clock: clock)
        if isSweepDue { try SecretAttachment.sweep(in: transaction) }
        try Journal.trim(to: configuration.journal, at: nil, in: transaction)
        return (try SyncValues.device(in: transaction), owner, scopes, try Journal.end(in: transaction))
      }
    } catch {
      try? store.close()  // the first error is the one to tell
      throw error
    }
    self.owner = found.owner
    followed.current = found.scopes
    blobFolder = BlobFolder(besideDatabase: path, file: store.file)
    engine = SyncEngine(
      runner: SyncRunner(
        store: store, remote: self.remote, configuration: configuration, clock: clock, device: found.device,
        blobs: blobFolder, governor: governor, owner: found.owner, followed: followed),
      decided: found.decided)
    if let obstacle = governor.obstacle { engine.update { $0.lastStop = obstacle } }
  }

  private static func open(
    _ path: String?, _ schema: StoreSchema, _ migrations: [Migration], _ owner: AccountID?,
    _ configuration: SyncOptions, _ options: StoreOptions, _ clock: SyncClock
  ) throws -> (LocalStore, setAside: String?) {
    var left: String?
    func open() throws -> LocalStore {
      try LocalStore.recording(
        at: path, schema: schema, migrations: migrations, owner: owner, options: options, clock: clock,
        finished: { left = $0 })
    }
    let isReplacing = configuration.schemaMismatch == .resetCache
    do {
      let store = try open()
      return (store, isReplacing ? left : nil)
    } catch let error as BothyError {
      guard error.code == .schemaMismatch, isReplacing, let path else { throw error }
      let document = try PendingDocument.setAside(path, options)
      configuration.logger.warning(
        "A file did not fit the schema and was replaced.", metadata: ["pending": "\(document ?? "nothing")"])
      return (try open(), document)
    }
  }

  /// Opens an existing file with the schema it carries. Its subscriptions stay, unless `configuration` names scopes.
  /// Throws `BothyError` `cannotOpen` if the file doesn't exist.
  package convenience init(
    existing path: String, remote: any RemoteStorage, configuration: SyncOptions = SyncOptions(),
    options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws {
    var configuration = configuration
    if configuration.scopes == [.everything], let scopes = try SubscriptionTable.opened(at: path) {
      configuration.scopes = scopes
    }
    try self.init(
      at: path, schema: LocalStore.storedSchema(at: path), remote: remote, configuration: configuration,
      options: options, clock: clock)
  }

  /// The id of this installation's file, as the server knows it.
  package var device: String { engine.runner.device }

  /// The options that it was opened with, with the scopes that are followed now and the policies in force now.
  package var configuration: SyncOptions {
    var configuration = governor.inForce(opened)
    configuration.scopes = followed.current
    return configuration
  }

  /// How many callers wait for syncs that others began.
  package var joinedCount: Int { engine.joinedCount }
  /// How many calls of `run()` wait for the running one to end.
  package var waitingRuns: Int { engine.loops.waiting }
}

/// Opening by file, by name, and in memory.
extension SyncedStore {
  /// Opens or creates a file. Makes no request. Blocks the calling thread while the file is migrated.
  ///
  /// ```swift
  /// let store = try SyncedStore(
  ///   at: folder.appending(path: "todos.bothy"), schema: [TodoList.self, Todo.self],
  ///   remote: BothyRemote(url: "https://todo.example.org", space: "home") { try await session.token() })
  /// ```
  ///
  /// Adding types and fields to the schema needs no migration.
  ///
  /// - Throws: `BothyError` for a file that can't be opened or brought to the schema; it stays as it was.
  public convenience init(
    at file: URL, schema: StoreSchema, remote: any RemoteStorage, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions()
  ) throws {
    try self.init(
      at: file.path, schema: schema, migrations: migrations, remote: remote, configuration: configuration)
  }

  /// Opens or creates `name.bothy` in the app's Application Support folder; on Linux in `$XDG_DATA_HOME/bothy`,
  /// else in `~/.local/share/bothy`. The folder is created for its owner alone. Makes no request.
  ///
  /// ```swift
  /// let store = try SyncedStore(named: "todos", schema: [TodoList.self, Todo.self], remote: remote)
  /// ```
  ///
  /// - Throws: `BothyError` as for a file, and `cannotOpen` for a name that is empty, holds a slash or begins
  ///   with a dot.
  public convenience init(
    named name: String, schema: StoreSchema, remote: any RemoteStorage, migrations: [Migration] = [],
    configuration: SyncOptions = SyncOptions()
  ) throws {
    try self.init(
      at: Self.file(named: name), schema: schema, remote: remote, migrations: migrations,
      configuration: configuration)
  }

  /// Opens a store in memory, for tests and previews. It is gone when it is released.
  ///
  /// ```swift
  /// let store = try SyncedStore.inMemory([Todo.self])
  /// try await store.save(Todo(title: "Buy milk"))
  /// ```
  ///
  /// Without a remote every change stays pending, and syncs end with `SyncObstacle.unreachable`. Blobs are in a
  /// temporary folder, which is deleted with the store.
  public static func inMemory(
    _ schema: StoreSchema, remote: any RemoteStorage = .none,
    configuration: SyncOptions = SyncOptions()
  ) throws -> SyncedStore {
    try SyncedStore(at: nil, schema: schema, remote: remote, configuration: configuration)
  }

  /// The file of a store with a name. Creates the folder.
  package static func file(named name: String) throws -> URL {
    guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else {
      throw BothyError(
        .cannotOpen, "'\(name)' can't name a store. Use letters and digits, such as \"todos\".")
    }
    let folder = dataFolder()
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw BothyError(
        .cannotOpen,
        "The folder \(folder.path) can't be created. Free the path, or open the store at another file.",
        underlying: error)
    }
    return folder.appendingPathComponent(name + ".bothy")
  }

  private static func dataFolder() -> URL {
    #if canImport(Darwin)
      URL.applicationSupportDirectory
    #else
      let given = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap {
        $0.hasPrefix("/") ? $0 : nil
      }
      return URL(
        fileURLWithPath: (given ?? NSHomeDirectory() + "/.local/share") + "/bothy", isDirectory: true)
    #endif
  }

  /// The local file, for the benchmarks, which are a package of their own and measure its blocking calls.
  @_spi(Benchmarks) public var localFile: LocalStore { store }

  /// Closes the file, after transactions that are running. Later calls throw `BothyError`. Closing twice does
  /// nothing.
  ///
  /// Ends observations, `maintenance.events` and `statuses`. Blocks while transactions run, so don't call it inside one.
  /// Cancel the task of `run()` before, because its syncs fail from then on. Releasing the store closes it too.
  public func close() throws { try store.close() }
}

extension LocalStore {
  /// Opens a file whose changes are pending for a later `SyncedStore`, without a remote. Throws `BothyError`
  /// `wrongAccount` for a file of another account than `owner`, and leaves it unchanged.
  ///
  /// A sign-out or a replacement that was interrupted is finished first: the file is deleted and made again.
  ///
  /// - Parameter finished: Called with the path of the replaced file's document, or `nil` without one.
  package static func recording(
    at path: String?, schema: StoreSchema, migrations: [Migration] = [], owner: AccountID? = nil,
    options: StoreOptions, clock: SyncClock, finished: (String?) -> Void = { _ in }
  ) throws -> LocalStore {
    func open() throws -> LocalStore {
      try LocalStore(
        at: path, schema: schema, migrations: migrations, options: options,
        recorder: OutboxQueue(clock: clock, owner: owner))
    }
    do { return try open() } catch let error as BothyError {
      guard error.code == .signedOut, let path else { throw error }
      let document = PendingDocument.left(beside: path)
      try DatabaseFiles.finishSignOut(path)
      finished(document)
      return try open()
    }
  }
}
