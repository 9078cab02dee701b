public import Logging

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// How hard a commit is.
  public enum Durability: String, Sendable, Hashable {
    /// A committed write survives a power cut (`PRAGMA synchronous = FULL`). The default.
    case full
    /// A committed write survives a crash of the process; a power cut may take the last ones, whole
    /// transactions at a time (`NORMAL`).
    case normal
  }

  /// Who else writes to the file, and how this store's observations hear of it.
  public enum Processes: Sendable, Hashable {
    /// Nobody: other stores on the file, in this process or another, go unseen.
    case single
    /// Other stores may; each commit touches a small file beside the database (1 to 2 µs), which the others
    /// watch. The default.
    case many
    /// Other programs may, that know nothing of Bothy: SQLite is asked at intervals.
    case polled(every: Duration)
  }

  /// What becomes of a file that turns out to be damaged when it is opened.
  public enum DamagedFile: Sendable, Hashable {
    /// It is renamed, and opening throws `.corrupt`, which says to what; the next opening makes a new file. The default:
    /// an app that can't open its file at this launch can at the next. `SyncedStore.salvage` gets what was pending out of
    /// the old one; until then `Store.damagedFiles` names it, a warning is logged at each opening, and `diagnose` has a
    /// finding.
    case setAside
    /// It is not looked for, and stays where it is: for tools that examine files.
    case leave
  }

  /// How hard a commit is; `.full` unless told otherwise.
  public var durability: Durability
  /// What becomes of a damaged file. Under `.setAside` every page is looked at once a day after opening, on a thread of
  /// its own, and whenever SQLite meets damage (`PRAGMA quick_check`). What is found has the next opening set the file
  /// aside.
  public var damagedFile: DamagedFile = .setAside
  /// Who else writes to the file; `.many` unless told otherwise.
  public var processes: Processes
  /// Connections for reading; each keeps its own page cache.
  public var readers: Int
  /// Page cache of each connection, in bytes.
  public var cacheSize: Int
  /// How long a write waits for another process's write.
  public var busyTimeout: Duration
  /// Where the values of sensitive fields are until the server has them; nil keeps them in files beside the database
  /// that only their owner may read, or in memory for a store in memory.
  public var secrets: (any SecretStore)?
  /// What intervals are measured by.
  public var clock: any Clock<Duration>
  /// Told what no call can throw: that commits of other processes can't be watched, and are polled or missed.
  public var logger: Logger
  /// What the test kit makes of each step of a write; nil, and never asked, in an app.
  package var onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)?

  /// The defaults suit an app: hard commits, other processes watched, 4 readers with 8 MB of page cache each, 5 s for
  /// another process's write.
  public init(
    durability: Durability = .full, processes: Processes = .many, readers: Int = 4, cacheSize: Int = 8 << 20,
    busyTimeout: Duration = .seconds(5),
    clock: any Clock<Duration> = ContinuousClock(),
    logger: Logger = Logger(label: "bothy.store")
  ) {
    self.durability = durability
    self.processes = processes
    self.readers = readers
    self.cacheSize = cacheSize
    self.busyTimeout = busyTimeout
    self.clock = clock
    self.logger = logger
  }
}
