import BothyStore
public import Logging

/// The behavior of a synced store. A value type: each operation uses the configuration from the moment it
/// began.
///
/// A store copies its options when it is opened, so a later change of the value has no effect on it. `store.options`
/// has those that the app can change later.
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
  /// The source of answers to reads. Each call may name another, and `store.options.readPolicy` changes it later.
  ///
  /// The default reads the local file alone, without a request. Types that aren't synced are always read from
  /// the file.
  public var readPolicy: ReadPolicy = .local
  /// Returns the read policy for a network: true with one, false without, `nil` while unknown. It is called once when
  /// the store is opened, then for each different value. A policy that reads from the server takes effect after the sync
  /// that a network's return starts.
  package var readPolicyProvider: (@Sendable (Bool?) -> ReadPolicy)?
  /// The behavior of reads between opening and the first completed sync.
  package var startup: Startup = .immediate
  /// The destination that writes reach first. Each call may name another, and `store.options.writePolicy` changes
  /// it later.
  ///
  /// The default is durable here after one transaction and needs no network. A running `run()` then sends it at
  /// once.
  public var writePolicy: WritePolicy = .localThenRemote
  /// The choice between keeping records on this device and keeping none.
  package var cache: CacheMode = .enabled
  /// The treatment of records that the server had acknowledged and lacks since it was restored or emptied. A server
  /// with another identity is always refused.
  package var restored: RestorePolicy = .request
  /// The treatment of an unsent record when others delete the record that it refers to.
  ///
  /// It is applied in the transaction in which the deletion arrives. The journal has the content that it takes.
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
  /// The interval at which `run()` syncs without another cause, while the app is in the foreground.
  ///
  /// With `nil`, the default, it never polls. Set it for a server without notifications. Each poll is one
  /// request, also if nothing has changed. In the background polls rest.
  public var pollInterval: Duration?
  /// The policies that decide conflicts: field by field against the base, unless set otherwise.
  ///
  /// `store.options.merging` changes them later. A sync that has begun continues with those that it began with.
  public var merging = MergePolicies()
  /// The longest time a rule of the app's own may take for one conflict. After it the conflict counts as
  /// undecided.
  ///
  /// The change stays pending, and the rule is called again later. Built-in policies have no limit.
  public var mergeTimeout: Duration = .seconds(30)
  /// The treatment of changes that the server rejects. The default keeps each pending and sends it again, at
  /// growing intervals.
  ///
  /// Rejected changes are in `store.outbox.rejected()`, and `SyncReport.rejected` has those of one sync.
  public var rejectionPolicy: RejectionPolicy = .keepPending
  /// The rejection policies by the names of types. They take precedence over `rejectionPolicy`.
  package var rejectionPolicies: [String: RejectionPolicy] = [:]
  /// The directions of a sync that names none, of `run()` too.
  ///
  /// With `.push` syncs bring no changes of others, and with `.pull` the local ones stay pending. Awaited saves
  /// are sent all the same.
  public var direction: SyncDirection = .both
  /// The scopes that a new file is subscribed to; by default the whole space. `store.subscriptions` changes
  /// them, and the file keeps them.
  ///
  /// A store that was opened with other scopes before adds the new ones. It removes those that are no longer
  /// passed, with the records outside of the remaining scopes. Records with pending changes stay until these
  /// are sent.
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
  ///
  /// A verdict beyond it is gone, so `SaveReceipt.result` then throws `expired`. The limits are applied in the
  /// transactions that add entries, and when the store is opened.
  public var journal = JournalLimits()
  /// The transport of blobs, and the number of their bytes that stay on this device. By default all stay.
  public var blobs = BlobOptions()
  /// The events that make a running `SyncedStore.run()` sync. Without triggers, syncs run on request only.
  ///
  /// Polls of `pollInterval` are independent of them. Without a running `run()` they have no effect.
  public var triggers: Triggers = .default
  /// The networks, the power state and the types that syncs run with. By default all are allowed.
  ///
  /// `store.options.network` changes them later. Without the monitor that is given to `run(reachability:)` no
  /// network is excluded.
  public var network: NetworkRules = .any
  /// The treatment of a file that doesn't fit the schema and has no migration. It is applied when the file is
  /// opened.
  public var schemaMismatch: SchemaMismatch = .throwError
  /// The wait of `run()` after a failed sync, and of a rejected change until it is sent again.
  package var backoff = Backoff()
  /// Makes ids of operations. A test can replace it to repeat a run exactly.
  package var makeOperationID: @Sendable () -> String = { UUIDv7.make() }
  /// Waits, for the timeouts of calls. A test provides its own.
  package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  /// The logger of rejected changes (notice), recreated files and saves that only the server has (warning).
  ///
  /// The end of a stream of notifications is logged too (debug). The default logger has the label `bothy.sync`.
  public var logger = Logger(label: "bothy.sync")

  /// The defaults: reads use this device alone, writes reach it first, and the whole space is subscribed to.
  ///
  /// Conflicts are merged field by field. Rejected changes stay pending, all triggers are on, and every network
  /// is allowed.
  public init() {}

  func rejectionPolicy(for type: String) -> RejectionPolicy {
    rejectionPolicies[type] ?? rejectionPolicy
  }
}

extension SyncOptions {
  /// The transport of blobs and the number of their bytes that stay on the device.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.blobs.budget = 500_000_000
  /// ```
  public struct BlobOptions: Sendable, Hashable {
    /// The most bytes of a blob in one request, and in memory.
    package var partSize = 1 << 20
    /// The number of bytes of blobs that are kept on the device; `nil`, the default, keeps all.
    ///
    /// The blobs used longest ago are evicted first, and only after the server has confirmed with one request
    /// each that it has them. Without a network, blobs aren't evicted. Pending and pinned blobs always stay, and
    /// those of content that the journal can restore, so these may exceed the budget. The budget is applied
    /// after each sync that moved blobs, and after downloads.
    public var budget: Int64?
  }

  /// The behavior of reads when the store was just opened.
  package enum Startup: Sendable, Hashable {
    /// They follow the read policy.
    case immediate
    /// They come from the local store until a sync has completed. Then the read policy takes effect.
    case syncThenNetwork
  }

  /// The treatment of a file that doesn't fit the app's schema, and that the app's migrations don't bring to
  /// it.
  public enum SchemaMismatch: Sendable, Hashable {
    /// Opening the file throws `BothyError` `.schemaMismatch`, and the file stays unchanged. The default.
    ///
    /// Pass a migration for the change, or open the file with the earlier schema.
    case throwError
    /// All pending changes are written to a document beside the file, then the file is recreated. Changes of other
    /// processes that have it open are refused from then on. Meant for development.
    ///
    /// Changes with sensitive values are drafts in the document, because it doesn't have the values.
    /// The next sync downloads the server's records. Records that no server has are lost, unless they are
    /// pending. `recoveredDocument` of `BothyLegacy` names the document.
    case resetCache
  }

  /// The events that start a sync while `run()` is running.
  ///
  /// Events during a sync make one more sync follow it. None of them shortens the wait after a failed sync.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.triggers.remove(.timer)
  /// ```
  public struct Triggers: OptionSet, Sendable, Hashable {
    /// The bits of the triggers in the set. Each trigger has one bit.
    public let rawValue: Int
    /// Makes a set from the bits. Unknown bits have no effect.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A save, deletion or `write` of the `SyncedStore` under `.localThenRemote`. The sync starts at once.
    ///
    /// Without it such writes are sent by the next sync of another cause, such as the timer.
    public static let save = Triggers(rawValue: 1)
    /// The start of `run()`, with pending changes or a pull that was never completed. Costs one read of the
    /// file.
    ///
    /// Otherwise the start makes no request. The connection for notifications starts a sync all the same when
    /// it opens.
    public static let start = Triggers(rawValue: 2)
    /// A timer that fires every ten minutes while the app is in the foreground. It syncs the containers with
    /// pending changes.
    ///
    /// If others have changed these, the other subscriptions are pulled with them.
    /// If nothing is pending it makes no request. A timer that was due in the background fires on the app's
    /// return.
    public static let timer = Triggers(rawValue: 4)
    /// The network came back and has stayed for a second. It needs the monitor that is given to
    /// `run(reachability:)`.
    ///
    /// It also ends the wait after syncs that got no answer, unless the server asked for a longer one.
    public static let reachability = Triggers(rawValue: 8)
    /// A notification of the server that something changed. It keeps one connection open while `run()` is
    /// running.
    ///
    /// A connection that is lost is opened again after a growing wait, and each opening starts a sync.
    public static let notifications = Triggers(rawValue: 16)

    /// A write to the file that left pending changes: of another process, of another store on the file, or
    /// under `.local`.
    ///
    /// The sync starts a second later, so that several writes are sent as one. Each check after a commit scans
    /// the pending changes. The check also sees a pause or its end by another process.
    public static let commit = Triggers(rawValue: 32)

    /// The return of the app from the background, as set with `store.options.isForeground`. The sync starts at
    /// once.
    ///
    /// It syncs whether or not anything is pending, so it costs at least one request.
    public static let foreground = Triggers(rawValue: 64)

    /// All seven triggers, the default of a configuration. `[]` switches all of them off.
    public static let `default`: Triggers = [
      .save, .start, .timer, .reachability, .notifications, .commit, .foreground,
    ]
  }

  /// The limits of the journal in a file. The limit that is reached first applies. The device's clock ends no
  /// entry.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.journal = SyncOptions.JournalLimits(days: 90)
  /// ```
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

    /// Creates limits, by default thirty days, 10,000 entries with what they lost in 16 MiB, and 2,000 that
    /// lost nothing.
    ///
    /// Negative numbers count as 0.
    ///
    /// - Parameters:
    ///   - days: the age by the server's clock, counted from the first answer after the decision.
    ///   - rows: the most entries of writes that were overwritten, merged with a loss, or rejected for good.
    ///   - bytes: the most bytes of the entries of each kind, with their content.
    ///   - acceptedRows: the most entries of writes that lost nothing.
    public init(days: Int = 30, rows: Int = 10_000, bytes: Int = 16 << 20, acceptedRows: Int = 2000) {
      self.days = max(0, days)
      self.rows = max(0, rows)
      self.bytes = max(0, bytes)
      self.acceptedRows = max(0, acceptedRows)
    }

    /// Returns the time before which entries are removed, in milliseconds.
    func begin(at now: Int64) -> Int64 {
      let (age, isTooLong) = Int64(clamping: days).multipliedReportingOverflow(by: 86_400_000)
      return isTooLong ? .min : now.subtractingClamped(age)
    }
  }
}

/// The choices that a store makes for all its calls, beside where they read and write.
extension SyncOptions {
  /// The treatment of a change that the server rejects permanently. It never applies to throttling, or to a
  /// missing network or token.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.rejectionPolicy = .discardAndRefetch
  /// ```
  public enum RejectionPolicy: Sendable, Hashable {
    /// The change stays pending and is tried again at growing intervals. It is listed as rejected. The default.
    ///
    /// Readers here see it until `Outbox.resolve(_:_:)` decides otherwise.
    case keepPending
    /// After `after` rejections the change isn't sent again, until the app decides with `Outbox.resolve(_:_:)`.
    ///
    /// With 1 or less the first rejection is enough. A new change of the record is sent again, and counts from
    /// 0.
    case quarantine(after: Int)
    /// The change is undone, and the record takes the server's version. The journal has the content, to restore
    /// it.
    case discardAndRefetch
  }
}

extension SyncOptions {
  /// The choice between a local copy and none.
  package enum CacheMode: String, Sendable, Hashable, CaseIterable {
    /// Records are stored in the file, and policies choose when reads use it. The default.
    case enabled
    /// Every read and every write uses the server, and nothing is stored on the device.
    case disabled
  }
}

extension SyncOptions {
  /// The treatment of a save that the local store cannot take, such as on a full disk or in a locked file.
  package enum LocalFailurePolicy: String, Sendable, Hashable, CaseIterable {
    /// The save throws. The default.
    case throwError
    /// The save is tried on the server. The receipt states that it isn't stored on the device. If the server rejects it or
    /// has other changes of the same fields, that is thrown. If the server decides nothing, the store's failure is.
    ///
    /// Of several records each is tried for itself, one after the other. A transaction of the app isn't tried.
    case tryRemote
  }
}

extension SyncOptions {
  /// The answer of a read that doesn't use the server, if its condition has fields that only the server knows.
  package enum UnevaluablePolicy: String, Sendable, Hashable, CaseIterable {
    /// The read throws `BothyError` `notLocallyEvaluable`. The default.
    case throwError
    /// The answer is empty, from the cache and not complete.
    case empty
  }
}

extension SyncOptions {
  /// The behavior of a sync that is requested while another runs.
  package enum IfRunning: String, Sendable, Hashable, CaseIterable {
    /// Waits for that sync, or for its turn, and reports the results. The default.
    case join
    /// Returns at once, with `.alreadyRunning` in the report.
    case ignore
  }
}
