public import BothyStore
public import BothySync
public import BothySyncService
import Synchronization

/// A server and its devices in one process.
///
/// The server is the real `SyncService` on a storage, the devices use real files, a test moves the clock, and networks
/// fail by a test's script.
public final class SimulatedWorld {
  /// The current server.
  public var service: SyncService { current.service }
  private let current: SharedService
  /// The storage of the server, for tests that inspect it directly.
  package let storage: any ServerMaintenance
  /// The space on the server that the devices share.
  public let space: String
  /// The clock of the server, and of every device but for its skew.
  public let time: VirtualTime
  /// In the order in which they were added.
  public private(set) var devices: [SimulatedDevice] = []
  private let folder: WorldFolder

  /// - Parameters:
  ///   - storage: the storage of the server. Nil keeps records in memory, until the world is deallocated.
  ///   - space: the space of devices and of inspections.
  ///   - blobs: the limits for blobs, or nil for a server that stores none.
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
  public func setRules(_ rules: AccessRules) { current.setRules(rules) }

  /// Adds a device with a file of its own, and opens it without a request to the server. Throws `BothyError`.
  ///
  /// - Parameters:
  ///   - name: the device's name. Nil takes `device1`, `device2` and so on.
  ///   - skew: the error of its clock, in milliseconds.
  ///   - principal: the user that the server assumes for the device.
  ///   - space: a space other than the world's.
  ///   - timeouts: the clock for waits that have a time limit. Nil waits in real time.
  ///   - onExchange: receives each exchange that the server has executed, even if the response is lost.
  @discardableResult
  public func addDevice(
    _ name: String? = nil, schema: StoreSchema, migrations: [Migration] = [],
    configuration: SyncOptions = .quiet, skew: Int64 = 0, principal: Principal = Principal("tester"),
    space: String? = nil, timeouts: VirtualClock? = nil,
    onExchange: @escaping @Sendable (SyncRequest, SyncResponse) -> Void = { _, _ in }
  ) throws -> SimulatedDevice {
    let name = name ?? "device\(devices.count + 1)"
    var server = InProcessRemote(space: space ?? self.space, principal: principal) { [current] in
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

  /// The server's digest of the space, of what the principal may see. Reads all of it.
  package func serverDigest(
    _ space: String? = nil, principal: Principal = Principal("tester")
  ) async throws -> ScopeDigest {
    try await service.digest(space: space ?? self.space, principal: principal, .everything)
  }

  /// The live records on the server, whatever their audience. Reads all of them.
  public func serverRecords(_ space: String? = nil) async throws -> [RecordID: ServerRecord] {
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

/// One simulated installation of an app.
public final class SimulatedDevice {
  /// Its name in the world and in snapshots: `device1`, `device2` and so on unless told otherwise.
  public let name: String
  /// The path of its SQLite file, in a folder that is deleted with the world and its devices.
  package let path: String
  /// Its network, for a test to cut and to script.
  public let remote: FaultyRemote
  /// The fail points of the device's storage.
  public let failPoints = FailPoints()
  /// The store of the app. `restart` replaces it, so read this property each time.
  public private(set) var store: SyncedStore
  private var schema: StoreSchema
  private var configuration: SyncOptions
  private let clock: @Sendable () -> Int64
  private let timeouts: VirtualClock?
  private let folder: WorldFolder

  init(
    name: String, in folder: WorldFolder, schema: StoreSchema, migrations: [Migration], remote: FaultyRemote,
    configuration: SyncOptions, clock: @escaping @Sendable () -> Int64, timeouts: VirtualClock?
  ) throws {
    self.name = name
    self.folder = folder
    path = folder.path(of: "\(name).sqlite")
    self.schema = schema
    self.remote = remote
    self.configuration = configuration
    self.clock = clock
    self.timeouts = timeouts
    store = try Self.open(
      path, schema, migrations, remote, configuration, Self.clock(clock, timeouts), failPoints)
  }

  /// Closes the file and opens it again, as a relaunch of the app does. Nothing that was not committed survives.
  ///
  /// - Parameters:
  ///   - schema: that of another version of the app; nil opens with the same.
  ///   - configuration: nil keeps what it was.
  public func restart(
    schema: StoreSchema? = nil, migrations: [Migration] = [], configuration: SyncOptions? = nil
  ) throws {
    try store.store.close()
    failPoints.reset()
    self.schema = schema ?? self.schema
    self.configuration = configuration ?? self.configuration
    store = try Self.open(
      path, self.schema, migrations, remote, self.configuration,
      Self.clock(clock, timeouts), failPoints)
  }

  /// Opens the file once more, as another process of the app does. Close it before a restart.
  package func openBeside() throws -> SyncedStore {
    try Self.open(
      path, schema, [], remote, configuration, Self.clock(clock, timeouts), FailPoints())
  }

  private static func open(
    _ path: String, _ schema: StoreSchema, _ migrations: [Migration], _ remote: FaultyRemote,
    _ configuration: SyncOptions, _ clock: SyncClock, _ failPoints: FailPoints
  ) throws -> SyncedStore {
    var options = StoreOptions(durability: .normal, processes: .single, readers: 16)
    options.onStep = { try failPoints.pass($0, $1) }
    return try SyncedStore(
      at: path, schema: schema, migrations: migrations, remote: remote, configuration: configuration,
      options: options, clock: clock)
  }

  private static func clock(_ now: @escaping @Sendable () -> Int64, _ timeouts: VirtualClock?) -> SyncClock {
    guard let timeouts else { return SyncClock(now: now) }
    return SyncClock(now: now, sleep: { try await timeouts.sleep(until: timeouts.now.advanced(by: $0)) })
  }
}

extension SyncOptions {
  /// A configuration that syncs only on request, without random waits.
  public static var quiet: SyncOptions {
    var configuration = SyncOptions()
    configuration.triggers = []
    configuration.backoff = Backoff(first: .milliseconds(1), limit: .milliseconds(1), random: { 0 })
    return configuration
  }
}
