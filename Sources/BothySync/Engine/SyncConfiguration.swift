import BothyStore
public import Logging

/// How a synced store behaves. A value: each operation uses what it was when the operation began.
public struct SyncConfiguration: Sendable {
  /// Where reads get their answers from; each call may say otherwise, and `SyncedStore.fetchPolicy` changes it later.
  public var fetchPolicy: FetchPolicy = .networkElseCache
  /// Gives the fetch policy for a status of the network: asked once when the store is opened, then for each different
  /// status. A policy that asks the server takes effect after the sync that a network's return starts.
  public var fetchPolicyProvider: (@Sendable (NetworkStatus) -> FetchPolicy)?
  /// What reads do between opening and the first completed sync.
  public var startup: Startup = .immediate
  /// Where writes go first; each call may say otherwise, and `SyncedStore.savePolicy` changes it later.
  public var savePolicy: SavePolicy = .cacheThenNetwork
  /// Whether records are kept on this device at all.
  public var cache: CacheMode = .enabled
  /// What becomes of what the server had acknowledged and lacks since it was restored or emptied. A server with another
  /// identity is always refused.
  public var restored: RestorePolicy = .ask
  /// What becomes of an unsent record when others delete what it refers to.
  public var orphans: OrphanPolicy = .deleteRule
  /// What becomes of a save that the local store cannot take.
  public var localFailure: LocalFailurePolicy = .throwError
  /// What a sync does that is asked for while one is running. Syncs that are part of a read or a save always join.
  public var ifRunning: IfRunning = .join
  /// What a read gives that only the server could answer, where the server is not asked.
  public var unevaluable: UnevaluablePolicy = .throwError
  /// Whether an empty answer that is known to be complete keeps `.cacheElseNetwork` from asking the server.
  public var trustsCompleteness = false
  /// How long a read under `.syncThenCache` waits for its sync; nil waits to its end.
  public var readTimeout: Duration?
  /// How often a running store asks a server that gives no hints, while the app is in the foreground; nil, the
  /// default, never does.
  public var pollInterval: Duration?
  /// How conflicts are decided: field by field against the base, unless told otherwise. `SyncedStore.mergePolicies`
  /// changes it later.
  public var mergePolicies = MergePolicies()
  /// How long a custom merge policy may take; then the conflict counts as not decided and is asked about again later.
  public var mergeTimeout: Duration = .seconds(30)
  /// What becomes of refused changes; by type, else `rejectionPolicy`.
  public var rejectionPolicy: RejectionPolicy = .keepPending
  /// By the types' names; goes before `rejectionPolicy`.
  public var rejectionPolicies: [String: RejectionPolicy] = [:]
  /// What a sync moves when nothing else is said.
  public var scope: SyncScope = .both
  /// The scopes that are followed; by default all of the space. A store that was opened with others before lets go of
  /// what is in none of these; `SyncedStore.follow` changes them while it is open.
  public var pullScopes: [PullScope] = [.space]
  /// Whether a live change in a container that is not followed is stored; else it is ignored.
  public var storesUnfollowedChanges = false
  /// What `SyncedStore.run()` pulls, where that is not all that is followed.
  public var runScopes: [PullScope]?
  /// How long a sync waits for writes in its containers to end.
  public var maxWait: Duration = .seconds(5)
  /// How long a sync, or another lock, waits for the body of a `SyncedStore.withSyncLock` to end; then it ends with the
  /// code `locked`.
  public var lockTimeout: Duration = .seconds(60)
  /// How long one request may take. It is given up then, and counts as unanswered: no call waits for ever for a server that
  /// is silent. A remote may have a shorter limit of its own; `BothyRemote` has a minute.
  public var requestTimeout: Duration = .seconds(300)
  /// What such waits, and `SyncedStore.run()`, are measured by.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// How often the timer looks for pending work.
  public var timerInterval: Duration = .seconds(600)
  /// The most operations in one request.
  public var batchSize = 500
  /// The most records that can be written together: they travel in one request, whatever `batchSize` is. A server
  /// takes a thousand operations in a request unless it was told otherwise.
  public var groupLimit = 1000
  /// The most changes in one answer.
  public var pageSize = 1000
  /// Whether operations carry the time of the edit.
  public var sendsLocalTimes = true
  /// How much is kept of what was decided about local writes, and for how long.
  public var journal = JournalLimits()
  /// How blobs travel, and how many bytes of them stay here.
  public var blobs = BlobOptions()
  /// What makes a running `SyncedStore.run()` sync. Without it syncs happen when they are asked for.
  public var triggers: SyncTriggers = .default
  /// On which networks, at what power and for which types syncs run.
  public var syncPolicy: SyncPolicy = .always
  /// What happens when the file does not fit the schema and no migration says how it should.
  public var schemaMismatch: SchemaMismatch = .throwError
  /// How long `run()` waits after a sync that failed, and a refused change until it is sent again.
  public var backoff = Backoff()
  /// Random numbers for operation ids, so that a test can replay.
  public var makeOperationID: @Sendable () -> String = { UUIDv7.make() }
  /// Waits, for the timeouts of calls; a test brings its own clock.
  public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  /// Gets what the server refused (notice), files made anew and saves that are on the server alone (warning).
  public var logger = Logger(label: "bothy.sync")

  /// As written above: reads ask the server first, writes are here first, all of the space is followed, and
  /// conflicts are merged field by field.
  public init() {}

  func rejectionPolicy(for type: String) -> RejectionPolicy { rejectionPolicies[type] ?? rejectionPolicy }
}

/// How the bytes of blobs travel and how many of them stay on the device.
public struct BlobOptions: Sendable, Hashable {
  /// The most bytes of a blob in one request, and in memory.
  public var partSize = 1 << 20
  /// How many bytes of blobs are kept here; nil keeps all. Those used longest ago go first, and only ones that the server
  /// says at that moment that it has, one request for each: without a network none goes. Never what is pending or pinned. Kept at the end of each sync that moved blobs, and after downloads.
  public var budget: Int64?

  /// A mebibyte at once and no budget, unless told otherwise. A part has at least one byte.
  public init(partSize: Int = 1 << 20, budget: Int64? = nil) {
    self.partSize = max(1, partSize)
    self.budget = budget
  }
}

/// What reads do when the store was just opened.
public enum Startup: Sendable, Hashable {
  /// They follow the fetch policy.
  case immediate
  /// They come from the local store until a sync has been completed; then the fetch policy takes effect.
  case syncThenNetwork
}

/// What happens when a file does not fit the app's schema.
public enum SchemaMismatch: Sendable, Hashable {
  /// Opening it throws `StoreError` `.schemaMismatch`, and the file stays as it is. The default.
  case throwError
  /// All that is pending is written to a document beside the file, then the file is made anew: for development.
  /// `SyncedStore.setAside` names the document.
  case resetCache
}

/// What starts a sync by itself while `run()` is running.
public struct SyncTriggers: OptionSet, Sendable, Hashable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// A save, deletion or `write` of the `SyncedStore` under `.cacheThenNetwork`; at once.
  public static let save = SyncTriggers(rawValue: 1)
  /// `run()` began, with pending work or a pull that was never completed.
  public static let start = SyncTriggers(rawValue: 2)
  /// Every ten minutes while the app is in the foreground, the containers in which anything is pending.
  public static let timer = SyncTriggers(rawValue: 4)
  /// The network came back.
  public static let reachability = SyncTriggers(rawValue: 8)
  /// The server hinted that there is news.
  public static let hints = SyncTriggers(rawValue: 16)

  /// A write that went past the `SyncedStore` left something pending: one through its `store`, one of another process.
  /// A second later, so that many are sent as one. Each look after a commit scans what is pending.
  public static let commit = SyncTriggers(rawValue: 32)

  /// The app came back from the background, as `SyncedStore.isForeground` was told; at once.
  public static let foreground = SyncTriggers(rawValue: 64)

  /// All seven: what a configuration has unless told otherwise.
  public static let `default`: SyncTriggers = [
    .save, .start, .timer, .reachability, .hints, .commit, .foreground,
  ]
}
