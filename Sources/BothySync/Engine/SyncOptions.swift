import BothyStore
public import Logging

/// The behavior of a synced store. A value type: each operation uses the configuration from the moment it began.
///
/// ```swift
/// var options = SyncOptions()
/// options.readPolicy = .remoteElseLocal
/// options.rejectionPolicy = .quarantine(after: 3)
/// options.scopes = [.container("trips/oslo")]
/// options.network = .wifiOnly
/// let store = try SyncedStore(at: path, schema: [Trip.self], remote: remote, configuration: options)
/// ```
public struct SyncOptions: Sendable {
  /// The source of answers to reads. Each call may name another, and `SyncedStore.readPolicy` changes it later.
  public var readPolicy: ReadPolicy = .local
  /// Returns the read policy for a status of the network. It is called once when the store is opened, then for each
  /// different status. A policy that reads from the server takes effect after the sync that a network's return starts.
  package var readPolicyProvider: (@Sendable (NetworkStatus) -> ReadPolicy)?
  /// The behavior of reads between opening and the first completed sync.
  package var startup: Startup = .immediate
  /// The destination that writes reach first. Each call may name another, and `SyncedStore.writePolicy` changes it
  /// later.
  public var writePolicy: WritePolicy = .localThenRemote
  /// The choice between keeping records on this device and keeping none.
  package var cache: CacheMode = .enabled
  /// The treatment of records that the server had acknowledged and lacks since it was restored or emptied. A server
  /// with another identity is always refused.
  package var restored: RestorePolicy = .ask
  /// The treatment of an unsent record when others delete the record that it refers to.
  public var orphans: MissingParentPolicy = .deleteRule
  /// The treatment of a save that the local store cannot take.
  package var localFailure: LocalFailurePolicy = .throwError
  /// The behavior of a sync that is requested while one is running. Syncs that are part of a read or a save always
  /// join.
  package var ifRunning: IfRunning = .join
  /// The answer of a read that only the server can evaluate, if the server isn't used.
  package var unevaluable: UnevaluablePolicy = .throwError
  /// True if an empty answer that is known to be complete keeps `.localElseRemote` from reading from the server.
  package var trustsCompleteness = false
  /// The longest time a read under `.syncThenLocal` waits for its sync. With `nil` it waits until the sync ends.
  package var readTimeout: Duration?
  /// The interval at which a running store polls a server without notifications, while the app is in the foreground.
  /// With `nil`, the default, it never polls.
  public var pollInterval: Duration?
  /// The policies that decide conflicts: field by field against the base, unless set otherwise.
  /// `SyncedStore.merging` changes them later.
  public var merging = MergePolicies()
  /// The longest time a custom merge policy may take. After it the conflict counts as undecided, and the policy is
  /// called again later.
  public var mergeTimeout: Duration = .seconds(30)
  /// The treatment of rejected changes.
  public var rejectionPolicy: RejectionPolicy = .keepPending
  /// The rejection policies by the names of types. They take precedence over `rejectionPolicy`.
  package var rejectionPolicies: [String: RejectionPolicy] = [:]
  /// The directions of a sync that names none.
  public var direction: SyncDirection = .both
  /// The scopes that a new file is subscribed to; by default the whole space. `store.subscriptions` changes them, and
  /// the file keeps them. A store that was opened with other scopes before adds the new ones. It removes those that are
  /// no longer passed, with the records outside of what is left.
  public var scopes: [SyncScope] = [.everything]
  /// True if a pushed change in a container without a subscription is stored. Otherwise it is ignored.
  package var storesUnfollowedChanges = false
  /// The scopes that `SyncedStore.run()` pulls, if they are not all subscribed ones.
  package var runScopes: [SyncScope]?
  /// The longest time a sync waits for writes in its containers to end.
  package var maxWait: Duration = .seconds(5)
  /// The longest time a sync, or another lock, waits for the body of a `SyncedStore.withSyncLock` to end. After it the
  /// wait ends with the code `locked`.
  package var lockTimeout: Duration = .seconds(60)
  /// The longest time one request may take. A request that takes longer counts as unanswered, so calls don't wait for a
  /// silent server forever. A remote may have a shorter limit of its own: `BothyRemote` has a minute.
  package var requestTimeout: Duration = .seconds(300)
  /// The clock that measures such waits and `SyncedStore.run()`.
  package var clock: any Clock<Duration> = ContinuousClock()
  /// The interval at which the timer checks for pending changes.
  package var timerInterval: Duration = .seconds(600)
  /// The most operations in one request.
  package var batchSize = 500
  /// The most records that can be written in one transaction. They travel in one request, whatever `batchSize` is. A
  /// server takes a thousand operations in a request unless it is configured otherwise.
  package var groupLimit = 1000
  /// The most changes in one answer.
  package var pageSize = 1000
  /// True if operations carry the time of the edit.
  package var sendsLocalTimes = true
  /// The amount of decisions about local writes that the journal keeps, and for how long.
  public var journal = JournalLimits()
  /// The transport of blobs, and the number of their bytes that stay on this device.
  public var blobs = BlobOptions()
  /// The events that make a running `SyncedStore.run()` sync. Without triggers, syncs run on request only.
  public var triggers: Triggers = .default
  /// The networks, the power state and the types that syncs run with.
  public var network: NetworkRules = .any
  /// The treatment of a file that doesn't fit the schema and has no migration.
  public var schemaMismatch: SchemaMismatch = .throwError
  /// The wait of `run()` after a failed sync, and of a rejected change until it is sent again.
  package var backoff = Backoff()
  /// Makes ids of operations. A test can replace it to repeat a run exactly.
  package var makeOperationID: @Sendable () -> String = { UUIDv7.make() }
  /// Waits, for the timeouts of calls. A test provides its own.
  package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  /// The logger of rejected changes (notice), recreated files and saves that only the server has (warning).
  public var logger = Logger(label: "bothy.sync")

  /// The defaults: reads use this device alone, writes reach it first, and the whole space is subscribed to.
  /// Conflicts are merged field by field.
  public init() {}

  func rejectionPolicy(for type: String) -> RejectionPolicy {
    rejectionPolicies[type] ?? rejectionPolicy
  }
}

extension SyncOptions {
  /// The transport of blobs and the number of their bytes that stay on the device.
  public struct BlobOptions: Sendable, Hashable {
    /// The most bytes of a blob in one request, and in memory.
    package var partSize = 1 << 20
    /// The number of bytes of blobs that are kept on the device; `nil` keeps all. The blobs used longest ago are evicted
    /// first, and only after the server has confirmed with one request each that it has them. Without a network, blobs
    /// aren't evicted. Pending and pinned blobs always stay. The budget is applied after each sync that moved blobs, and
    /// after downloads.
    public var budget: Int64?

    /// A part size of one mebibyte and no budget, unless the parameters say otherwise. A part has at least one byte.
    package init(partSize: Int = 1 << 20, budget: Int64? = nil) {
      self.partSize = max(1, partSize)
      self.budget = budget
    }
  }

  /// The behavior of reads when the store was just opened.
  package enum Startup: Sendable, Hashable {
    /// They follow the read policy.
    case immediate
    /// They come from the local store until a sync has completed. Then the read policy takes effect.
    case syncThenNetwork
  }

  /// The treatment of a file that doesn't fit the app's schema.
  public enum SchemaMismatch: Sendable, Hashable {
    /// Opening the file throws `BothyError` `.schemaMismatch`, and the file stays unchanged. The default.
    case throwError
    /// All pending changes are written to a document beside the file, then the file is recreated. Meant for development.
    /// `recoveredDocument` of `BothyLegacy` names the document.
    case resetCache
  }

  /// The events that start a sync while `run()` is running.
  public struct Triggers: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A save, deletion or `write` of the `SyncedStore` under `.localThenRemote`. The sync starts at once.
    public static let save = Triggers(rawValue: 1)
    /// The start of `run()`, with pending changes or a pull that was never completed.
    public static let start = Triggers(rawValue: 2)
    /// A timer that fires every ten minutes while the app is in the foreground. It syncs the containers with pending
    /// changes.
    public static let timer = Triggers(rawValue: 4)
    /// The network came back.
    public static let reachability = Triggers(rawValue: 8)
    /// A notification of the server that something changed.
    public static let notifications = Triggers(rawValue: 16)

    /// A write of another process, or of another store on the file, that left pending changes.
    /// The sync starts a second later, so that several writes are sent as one. Each check after a commit scans the
    /// pending changes.
    public static let commit = Triggers(rawValue: 32)

    /// The return of the app from the background, as set with `SyncedStore.isForeground`. The sync starts at once.
    public static let foreground = Triggers(rawValue: 64)

    /// All seven triggers, the default of a configuration.
    public static let `default`: Triggers = [
      .save, .start, .timer, .reachability, .notifications, .commit, .foreground,
    ]
  }

  /// The limits of the journal in a file. The limit that is reached first applies. The device's clock ends no entry.
  public struct JournalLimits: Sendable, Hashable {
    /// The number of days for which an entry is kept, by the server's clock. They begin with the first answer of the
    /// server after the decision. Without a server the size alone counts.
    package var days: Int
    /// The most entries of writes that were overwritten, merged with a loss, or rejected for good.
    package var rows: Int
    /// The most bytes that these take, with their content. The entry that passes the limit is still kept.
    package var bytes: Int
    /// The most entries of writes that lost nothing: accepted ones, and rejections that wait for a decision.
    package var acceptedRows: Int

    /// Creates limits, by default thirty days, 10,000 entries with what they lost in 16 MB, and 2,000 that lost nothing.
    public init(days: Int = 30, rows: Int = 10_000, bytes: Int = 16 << 20, acceptedRows: Int = 2000) {
      self.days = max(0, days)
      self.rows = max(0, rows)
      self.bytes = max(0, bytes)
      self.acceptedRows = max(0, acceptedRows)
    }

    /// Returns the time before which entries are removed, in milliseconds.
    func begin(at now: Int64) -> Int64 { now - Int64(clamping: days) &* 86_400_000 }
  }
}
