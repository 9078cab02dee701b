import BothyStore
import BothySync

/// One simulated installation of an app.
///
/// Made by `SimulatedWorld.addDevice`. It may outlive its world, with the server and the file. Its store is durable
/// against the end of the process, not against a power cut.
public final class SimulatedDevice {
  /// Its name in the world and in snapshots: `device1`, `device2` and so on unless told otherwise.
  public let name: String
  /// The path of its SQLite file, in a folder that is deleted with the world and its devices.
  package let path: String
  /// Its network, for a test to cut and to script.
  ///
  /// It is the same after `restart`, with its cut, its scripts and its requests.
  public let remote: FaultyRemote
  /// The fail points of the device's storage.
  ///
  /// `restart` resets them before it opens the file. The steps of the opening are the first of `passed`.
  public let failPoints = FailPoints()
  /// The store of the app. `restart` replaces it, so read this property each time.
  ///
  /// Calls on a store from before a restart throw `BothyError` `database`.
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
  /// Waits for calls that are running, and blocks the thread meanwhile. Fail points are reset, and a crash is over. The
  /// network keeps its cut and its scripts. Observations of the former store end.
  ///
  /// - Parameters:
  ///   - schema: that of another version of the app; nil opens with the same.
  ///   - migrations: those of this opening alone, none by default.
  ///   - configuration: nil keeps what it was.
  /// - Throws: `BothyError`, as opening a `SyncedStore` does. The device then has its closed store, and a further call
  ///   may open the file.
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
    // A busy machine may keep another process's write, or this one, waiting for long.
    var options = StoreOptions(
      durability: .normal, processes: .single, readers: 16, busyTimeout: .seconds(100))
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
