public import BothyStore
public import BothySync
public import BothySyncService
import Synchronization

/// A server and its devices in one process.
///
/// The server is the real `SyncService` on a storage, and the devices use real files. A test moves the clock, and
/// networks fail by a test's script.
///
/// ```swift
/// let world = try SimulatedWorld()
/// let ada = try world.addDevice("ada", schema: [Todo.self])
/// let ben = try world.addDevice("ben", schema: [Todo.self])
/// try await ada.store.save(todo)
/// for device in [ada, ben] { await device.store.sync() }
/// let problems = try await world.snapshot().unevenness  // none
/// ```
///
/// A world belongs to the task that made it. The stores and remotes of its devices may be used from any task. The files
/// are deleted once the world and its devices are released.
public final class SimulatedWorld {
  /// The current server.
  ///
  /// It is a copy with the storage of the world. `setRules` changes the rules of later ones, and changes of the copy's
  /// own rules reach no device.
  public var service: SyncService { current.service }
  private let current: SharedService
  /// The storage of the server, for tests that inspect it directly.
  package let storage: any ServerMaintenance
  /// The space on the server that the devices share.
  ///
  /// A device that was added with a space of its own isn't in it.
  public let space: String
  /// The clock of the server, and of every device but for its skew.
  ///
  /// It moves only by `advance(by:)`, so all edits until then have one time.
  public let time: VirtualTime
  /// The devices, in the order in which they were added.
  ///
  /// The world keeps all of them until it is released.
  public private(set) var devices: [SimulatedDevice] = []
  private let folder: WorldFolder

  /// Creates a world without devices, with a folder for their files.
  ///
  /// The folder is in `/dev/shm` where that exists, so that commits don't wait for a disk. Otherwise it is in the
  /// temporary folder.
  ///
  /// - Parameters:
  ///   - storage: the storage of the server. Nil keeps records in memory, until the world and its
  ///     devices are released.
  ///   - space: the space of devices and of inspections.
  ///   - rules: the schema, permissions and limits. By default any type and field is accepted, from every user.
  ///   - blobs: the limits for blobs, or nil for a server that stores none.
  ///   - time: the clock. By default it begins at 2026-01-01T00:00:00Z.
  /// - Throws: Foundation's error if the folder can't be created, or the error of the storage in memory.
  public init(
    storage: (any ServerMaintenance)? = nil, space: String = "test", rules: AccessRules = AccessRules(),
    blobs: BlobLimits? = BlobLimits(), time: VirtualTime = VirtualTime()
  ) throws {
    let storage = try storage ?? SQLiteServerStorage()
    self.storage = storage
    self.space = space
    self.time = time
    folder = try WorldFolder()
    let vaultPath = folder.path(of: "vault")
    let vault = blobs.map { FolderBlobStorage(at: vaultPath, limits: $0, now: time.reader()) }
    current = SharedService(
      SyncService(storage: storage, rules: rules, blobs: vault, now: time.reader()))
  }

  /// Changes what the server accepts and shows, as a restart with another schema does.
  ///
  /// Later requests of all devices follow the new rules, and one that is under way ends with the old. Stored records
  /// stay as they are.
  public func setRules(_ rules: AccessRules) { current.setRules(rules) }

  /// Adds a device with a file of its own, and opens it without a request to the server.
  ///
  /// Costs a file and one write, and blocks the thread meanwhile.
  ///
  /// - Parameters:
  ///   - name: the device's name, which is part of its file's. Nil takes `device1`, `device2` and so on. Two devices of
  ///     one name share a file.
  ///   - configuration: the options of its store. By default it syncs only when the test calls for it.
  ///   - skew: the error of its clock, in milliseconds. A positive one is ahead of the world.
  ///   - user: the user that the server assumes for the device.
  ///   - space: a space other than the world's.
  ///   - timeouts: the clock for waits that have a time limit. Nil waits in real time.
  ///   - onExchange: receives each exchange that the server has executed, even if the response is lost.
  /// - Throws: `BothyError`, as opening a `SyncedStore` does. The world then has no such device.
  @discardableResult
  public func addDevice(
    _ name: String? = nil, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncOptions = .quiet, skew: Int64 = 0, user: Caller = Caller("tester"),
    space: String? = nil, timeouts: VirtualClock? = nil,
    onExchange: @escaping @Sendable (SyncRequest, SyncResponse) -> Void = { _, _ in }
  ) throws -> SimulatedDevice {
    let name = name ?? "device\(devices.count + 1)"
    var server = InProcessRemote(space: space ?? self.space, user: user) { [current] in
      current.service
    }
    server.onExchange = onExchange
    let remote = FaultyRemote(server)
    let device = try SimulatedDevice(
      name: name, in: folder, schema: schema, migrations: migrations, remote: remote,
      configuration: configuration, clock: time.reader(skew: skew), timeouts: timeouts)
    devices.append(device)
    return device
  }

  /// The server's digest of the space, of what the user may see. Reads all of it.
  package func serverDigest(
    _ space: String? = nil, user: Caller = Caller("tester")
  ) async throws -> ScopeDigest {
    try await service.digest(space: space ?? self.space, user: user, .everything)
  }

  /// The live records on the server, whatever their audience. Reads all of them.
  ///
  /// One transaction, and all records in memory. Deleted records aren't included. Sends no request.
  ///
  /// - Parameter space: nil for the world's. A space without records gives an empty dictionary.
  /// - Throws: the storage's error.
  package func serverRecords(_ space: String? = nil) async throws -> [RecordID: ServerRecord] {
    try await storage.read(space: space ?? self.space) { storage in
      var records: [RecordID: ServerRecord] = [:]
      try storage.forEachRecord(in: .everything) { records[$0.record.id] = $0.record }
      return records
    }
  }
}

/// The authority that all devices of a world share.
private final class SharedService: Sendable {
  private let state: Mutex<SyncService>

  init(_ service: SyncService) { state = Mutex(service) }

  var service: SyncService { state.withLock { $0 } }

  func setRules(_ rules: AccessRules) { state.withLock { $0.rules = rules } }
}

extension SyncOptions {
  /// A configuration that syncs only on request, without random waits.
  ///
  /// It has no triggers, and retries after 1 ms. Everything else has its default. Each access makes a value of its own,
  /// which a test may change.
  public static var quiet: SyncOptions {
    var configuration = SyncOptions()
    configuration.triggers = []
    configuration.backoff = Backoff(first: .milliseconds(1), limit: .milliseconds(1), random: { 0 })
    return configuration
  }
}
