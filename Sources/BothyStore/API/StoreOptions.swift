public import Logging

/// The options for opening a store.
///
/// ```swift
/// let options = StoreOptions(processes: .single, busyTimeout: .seconds(2))
/// let store = try LocalStore(at: path, schema: [Todo.self], options: options)
/// ```
///
/// SQL is checked at its first use. If the options name it, with any values, a debug build checks it at launch:
///
/// ```swift
/// func late(_ date: Date) -> SQLQuery<String> {
///   SQLQuery("SELECT title FROM Todo WHERE due < \(date)", as: String.self)
/// }
///
/// let checked = StoreOptions(checking: [late(.now), Todo.order(by: \.due)])
/// ```
public struct StoreOptions: Sendable {
  /// The durability of a commit.
  package enum Durability: String, Sendable, Hashable {
    /// A committed write survives a power cut (`PRAGMA synchronous = FULL`). The default. Each commit waits for the
    /// disk.
    case full
    /// A committed write survives a crash of the process. A power cut may lose the last ones, whole transactions at a
    /// time (`NORMAL`).
    case normal
  }

  /// The other writers of the file, which determine how observations detect their commits.
  ///
  /// The choice changes no result of a read or write. It matters to `values(of:)` and to the models of views. The file
  /// is watched only while an observation exists.
  public enum Processes: Sendable, Hashable {
    /// No other writer. Commits of other stores on the file, in this process or another, stay unnoticed. An observation
    /// shows their changes only after the next commit of its own store.
    case single
    /// Other stores. Each commit touches a small file beside the database (1 to 2 µs), which the other stores watch.
    /// The default. If it can't be watched, the store logs a warning and polls every 100 ms.
    case many
    /// Other programs without Bothy. SQLite is polled at intervals. A commit is noticed after one interval at the
    /// latest. Each poll is one short query.
    case polled(every: Duration)
  }

  /// The treatment of a file that is found damaged when it is opened.
  package enum DamagedFile: Sendable, Hashable {
    /// Quarantines the file: renames it and throws `.corrupt` with the new path. The next opening creates a new file.
    /// The default, because an app that can't open its file at this launch can at the next. `StoreMaintenance.salvage`
    /// recovers pending changes from the old file. Until then `LocalStore.damagedFiles` names it, each opening logs a
    /// warning, and `diagnose` has a finding.
    case setAside
    /// Doesn't check for damage and leaves the file in its place. For tools that examine files. Opening a damaged file
    /// throws `.corrupt`, or succeeds until a damaged page is read.
    case leave
  }

  /// The durability of a commit. Defaults to `.full`.
  package var durability: Durability
  /// The treatment of a damaged file. Under `.setAside` every page is checked once a day after opening, on a thread of
  /// its own, and whenever SQLite meets damage (`PRAGMA quick_check`). If damage is found, the next opening quarantines
  /// the file.
  package var damagedFile: DamagedFile = .setAside
  /// The other writers of the file. Defaults to `.many`.
  package var processes: Processes
  /// The number of connections for reading. Each has its own page cache. A further read waits until one of them is
  /// free.
  package var readers: Int
  /// The page cache of each connection, in bytes.
  package var cacheSize: Int
  /// The longest wait of a write for another process's write. Then it throws `BothyError` `.busy`. Opening the file
  /// waits as long.
  package var busyTimeout: Duration
  /// The store for the values of sensitive fields until the server has them. If nil, they are in files beside the
  /// database that only their owner can read, or in memory for a store in memory.
  package var secrets: (any SecretStore)?
  /// The clock that measures intervals.
  package var clock: any Clock<Duration>
  /// The logger for failures that no call can throw, for example that commits of other processes can't be watched and
  /// are polled or missed.
  package var logger: Logger
  /// The requests that debug builds try when a store opens.
  package var checkedRequests: [any ReadRequest] = []
  /// The test kit's hook for each step of a write. Nil, and never called, in an app.
  package var onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)?

  /// Creates the options. The defaults suit an app.
  ///
  /// - Parameters:
  ///   - processes: The other writers of the file.
  ///   - busyTimeout: The longest wait of a write for another process's write.
  ///   - secrets: The store for the values of sensitive fields until the server has them. If `nil`, they are in files
  ///     beside the database that only their owner can read, or in memory for a store in memory.
  ///   - logger: The logger for failures that no call can throw, for example that commits of other processes can't be
  ///     watched and are polled or missed.
  ///   - requests: Queries and SQL of the app. A debug build reads each from an empty store of the schema before it
  ///     opens a file, and throws the error of the first that doesn't fit. Costs a few milliseconds. A release build
  ///     ignores them.
  public init(
    processes: Processes = .many, busyTimeout: Duration = .seconds(5), secrets: (any SecretStore)? = nil,
    logger: Logger = Logger(label: "bothy.store"), checking requests: [any ReadRequest] = []
  ) {
    self.init(durability: .full, processes: processes, busyTimeout: busyTimeout, logger: logger)
    self.secrets = secrets
    checkedRequests = requests
  }

  /// Creates options with full durability and 4 readers with 8 MB of page cache each, unless given.
  package init(
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
