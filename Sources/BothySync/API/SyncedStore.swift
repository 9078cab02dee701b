public import BothyStore
import Logging
import Synchronization

/// A store whose records are kept in agreement with a server: the same reads and writes as `LocalStore`, with policies.
///
/// Every answer comes from the local file, pending changes included; the policies say whether the server is asked
/// before. Writes are durable here before they are sent; nothing is ever dropped for lack of a network. Syncs
/// happen when asked for by `sync()`, and by themselves while `run()` is running.
///
/// Several stores may use one file, in one process or in several. Each hears of the others' commits, and one syncs at a
/// time. With `StoreOptions.Processes.single` an app says that there is no other store, and one that exists is unnoticed.
///
/// Every call may be made from any task or thread. One that is not `async` reads or writes the file on the calling
/// thread and makes no request. All throw `BothyError`: for the file and the schema, and those that send a request for
/// the server too.
public final class SyncedStore: Sendable {
  /// The local file. Writes through it are recorded and sent like others, under `run()` a second later.
  package let store: LocalStore
  /// The device's clock, with the known offset of the server's.
  package let clock: SyncClock
  let remote: BoundRemote
  let engine: SyncEngine
  let belief = ReachabilityEstimate()
  let blobFolder: BlobFolder
  let downloads = BlobDownloads()
  let governor: SyncConditions
  let followed: SubscribedScopes
  let presence = AppPresence()
  private let opened: SyncOptions
  /// Whose file it is, where that was said when it was opened.
  package let owner: AccountID?
  /// The document of what was pending in a file that did not fit the schema and was created again.
  public let setAside: String?

  /// Opens or creates the file at `path` (nil: in memory), as `LocalStore` does, with what sync keeps beside it.
  /// Makes no request. Throws `BothyError`, such as `wrongAccount` if the file belongs to another user.
  ///
  /// - Parameter owner: whose file it is. A file belongs to the first owner it is opened for, and the
  ///   server takes its work from no other user.
  public init(
    at path: String?, schema: StoreSchema, migrations: [Migration] = [], remote: any RemoteStorage,
    owner: AccountID? = nil, configuration: SyncOptions = SyncOptions(),
    options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws {
    (store, setAside) = try Self.open(path, schema, migrations, configuration, options, clock)
    self.clock = clock
    self.remote = BoundRemote(
      remote: NamingRemote(remote, store.schema), store: store, belief: belief, clock: clock,
      limit: configuration.requestTimeout)
    opened = configuration
    followed = SubscribedScopes(configuration.pullScopes)
    let governor = SyncConditions(configuration, file: store.file)
    self.governor = governor
    let found: (device: String, owner: AccountID?, scopes: [SyncScope], decided: Int64)
    // Pending changes in a file that was set aside may need their secrets when it is salvaged.
    let isSweepDue = store.damagedFiles.isEmpty
    do {
      found = try store.write(origin: .remote) { [schema = store.schema] transaction in
        let owner = try FileOwner.bind(owner, in: transaction)
        if let estimate = try SyncValues.estimate(in: transaction) { clock.restore(estimate) }
        governor.isPaused = try SyncValues.isPaused(in: transaction)
        governor.updateRequired = try SyncValues.updateRequired(at: schema.version, in: transaction)
        try UnrecognizedRecords.adopt(in: transaction)
        try UnreadableTable.retry(in: transaction)
        let scopes = try SubscriptionTable.open(with: configuration.pullScopes, in: transaction)
        try SecretAttachment.sendMoved(in: transaction, clock: clock)
        if isSweepDue { try SecretAttachment.sweep(in: transaction) }
        try Journal.trim(to: configuration.journal, at: clock.now(), in: transaction)
        return (try SyncValues.device(in: transaction), owner, scopes, try Journal.end(in: transaction))
      }
    } catch {
      try? store.close()  // the first error is the one to tell
      throw error
    }
    self.owner = found.owner
    followed.current = found.scopes
    let progress = ProgressRelay()
    blobFolder = BlobFolder(besideDatabase: path)
    engine = SyncEngine(
      pass: SyncPass(
        store: store, remote: self.remote, configuration: configuration, clock: clock, device: found.device,
        blobs: blobFolder, governor: governor, owner: found.owner, followed: followed,
        progress: { progress.send($0) }), decided: found.decided)
    progress.connect(to: engine)
    if let obstacle = governor.obstacle { engine.update { $0.lastStop = obstacle } }
  }

  private static func open(
    _ path: String?, _ schema: StoreSchema, _ migrations: [Migration], _ configuration: SyncOptions,
    _ options: StoreOptions, _ clock: SyncClock
  ) throws -> (LocalStore, setAside: String?) {
    func open() throws -> LocalStore {
      try LocalStore.recording(
        at: path, schema: schema, migrations: migrations, options: options, clock: clock)
    }
    do {
      let store = try open()
      guard let path, try store.read({ try ServerBinding.isSignedOut(in: $0) }) else { return (store, nil) }
      // A sign-out that was cut short is finished: what it gave up is not to come back.
      try store.close()
      try DatabaseFiles.remove(path)
      return (try open(), nil)
    } catch let error as BothyError {
      guard error.code == .schemaMismatch, configuration.schemaMismatch == .resetCache, let path else {
        throw error
      }
      let document = try PendingDocument.setAside(path, options)
      configuration.logger.warning(
        "A file did not fit the schema and was replaced.", metadata: ["pending": "\(document ?? "nothing")"])
      return (try open(), document)
    }
  }

  /// Opens an existing file with the schema it carries. Its subscriptions stay, unless `configuration` names scopes. Throws `BothyError` `.cannotOpen` if the file doesn't exist.
  package convenience init(
    existing path: String, remote: any RemoteStorage, configuration: SyncOptions = SyncOptions(),
    options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws {
    var configuration = configuration
    if configuration.pullScopes == [.everything], let scopes = try SubscriptionTable.opened(at: path) {
      configuration.pullScopes = scopes
    }
    try self.init(
      at: path, schema: LocalStore.storedSchema(at: path), remote: remote, configuration: configuration,
      options: options, clock: clock)
  }

  /// The id of this installation's file, as the server knows it.
  package var device: String { engine.pass.device }

  /// What it was opened with; `pullScopes` are those that are followed now, `writePolicy` and `mergePolicies` those that
  /// are in force now.
  package var configuration: SyncOptions {
    var configuration = governor.inForce(opened)
    configuration.pullScopes = followed.current
    return configuration
  }

  /// How many callers wait for syncs that others began.
  package var joinedCount: Int { engine.joinedCount }

  // MARK: syncing

  /// Brings the local store and the server into agreement, as far as the network allows. Returns when done. Throws
  /// nothing: the report says what did not work.
  ///
  /// - Parameters:
  ///   - direction: which way; nil as configured.
  ///   - container: only this container is pulled, with those below it; nil pulls the configured scopes.
  @discardableResult
  public func sync(_ direction: SyncDirection? = nil, container: String? = nil) async -> SyncReport {
    await sync(direction, container: container, forced: false)
  }

  /// Like `sync(_:container:)`, but also while something forbids it.
  ///
  /// - Parameters:
  ///   - scope: which way; nil as configured.
  ///   - container: only this container is pulled, with those below it; nil pulls the configured scopes.
  ///   - forced: whether it runs though syncing is paused, the sync policy forbids it, or the server asked for a newer
  ///     version of the app. Otherwise the report says `skipped`, and no request is made.
  ///   - ifRunning: what to do when a sync is running already; nil as configured.
  @discardableResult
  package func sync(
    _ scope: SyncDirection? = nil, container: String? = nil, forced: Bool = false,
    ifRunning: SyncOptions.IfRunning? = nil
  ) async -> SyncReport {
    if (ifRunning ?? configuration.ifRunning) == .ignore && engine.isBusy {
      return SyncReport(stop: .alreadyRunning)
    }
    if let obstacle = await governor.obstacle(in: store), !forced || obstacle == .signedOut {
      return await engine.skip(obstacle)
    }
    let pulls = container.map { [SyncScope(container: $0, includesChildren: true)] }
    return await engine.sync(
      SyncPass.Request(
        scope: scope ?? configuration.scope, pulls: pulls, ignoresRetryTimes: true,
        heldTypes: forced ? [] : governor.heldTypes, isGoverned: !forced))
  }

  /// Syncs both ways and returns when nothing is pending and nothing newer is known on the server.
  /// Throws `BothyError` when that could not be reached.
  @discardableResult
  public func caughtUp() async throws -> SyncReport {
    let report = await sync(.both, ifRunning: .join)
    if let reason = report.stop { throw BothyError(reason) }
    let waiting = try pendingCounts()
    guard waiting.total == waiting.held else {
      throw BothyError(
        .pendingChanges,
        "\(waiting.total - waiting.held) changes are still pending; `inbox` says why the server refuses them."
      )
    }
    return report
  }

  /// Syncs by itself until its task is cancelled: after saves, on hints, on a timer, when the network or the app comes
  /// back, as the configuration's triggers say.
  ///
  /// Failures are tried again with growing, random waits of a minute at most, and no sooner than the server asked
  /// for. No trigger shortens a wait, and neither does calling this again. A sync or an awaited save of the app itself
  /// is tried at once, and ends the wait when the server answers; so does a network that came back after one that was
  /// gone.
  public func run(reachability: (any ReachabilityMonitor)? = nil) async {
    await run(reachability: reachability, clock: configuration.clock)
  }

  /// Like `run(reachability:)`, but on a given clock, for tests.
  public func run<C: Clock>(reachability: (any ReachabilityMonitor)? = nil, clock: C) async
  where C.Duration == Duration {
    let configuration = configuration
    let triggers = configuration.triggers
    let request = SyncPass.Request(scope: configuration.scope, pulls: configuration.runScopes)
    let hasWork = triggers.contains(.start) ? await hasReasonToStart() : false
    await withTaskGroup(of: Void.self) { group in
      if triggers.contains(.timer) { group.addTask { await self.askOnTimer(clock) } }
      if let interval = configuration.pollInterval {
        group.addTask { await self.poll(every: interval, clock) }
      }
      if triggers.contains(.commit) { group.addTask { await self.askOnCommits(clock) } }
      if triggers.contains(.hints), remote.givesHints { group.addTask { await self.askOnHints(clock) } }
      if let reachability { group.addTask { await self.follow(reachability, triggers, clock) } }
      await engine.run(request: request, startsWithWork: hasWork, clock: clock)
      // Signed out: no task listens now.
      group.cancelAll()
    }
  }

  private func hasReasonToStart() async -> Bool {
    let found = try? await store.read { transaction in
      try OutboxQueue.hasWork(in: transaction) || PullState.all(in: transaction).allSatisfy { !$0.isComplete }
    }
    return found ?? true  // unreadable: the pass will say why
  }

  private func askOnHints<C: Clock>(_ clock: C) async where C.Duration == Duration {
    let backoff = configuration.backoff
    var failures = 0
    while !Task.isCancelled {
      let opened = clock.now
      do { for try await _ in remote.hints() { engine.ask() } } catch is CancellationError { return } catch {
        configuration.logger.debug("The stream of hints ended.", metadata: ["error": "\(error)"])
      }
      // One that ends as soon as it has begun is a failure, however often it begins.
      if opened.duration(to: clock.now) >= backoff.delay(attempt: failures + 1) { failures = 0 }
      failures += 1
      let delay = backoff.delay(attempt: failures)
      do { try await clock.sleep(until: clock.now.advanced(by: delay), tolerance: nil) } catch { return }
    }
  }
}

extension BothyError {
  package init(_ reason: SyncStop) {
    switch reason {
    case .unreachable(let message): self.init(.unreachable, message)
    case .signInRequired(let message): self.init(.signInRequired, message)
    case .throttled(let message): self.init(.throttled, message)
    case .serverError(let message): self.init(.serverError, message)
    case .refused(_, let message): self.init(.rejected, message)
    case .alreadyRunning: self.init(.cancelled, "A sync is running already.")
    case .paused: self.init(.cancelled, "Syncing is paused; resume it, or force this sync.")
    case .expensiveNetwork:
      self.init(
        .cancelled, "The network may cost money, and the sync policy does not allow such; force this sync.")
    case .constrainedNetwork:
      self.init(.cancelled, "The sync policy spares a constrained network; force this sync.")
    case .lowPower:
      self.init(.cancelled, "The device saves power, as the sync policy respects; force this sync.")
    case .updateRequired(let message): self.init(.updateRequired, message)
    case .otherServer(let message): self.init(otherServer: message)
    case .signedOut: self.init(.signedOut, "The account was signed out.")
    case .cancelled: self.init(.cancelled, "The sync was cancelled; what it had done is kept.")
    }
  }
}

/// Carries progress from a pass to the engine that owns it.
private final class ProgressRelay: Sendable {
  private struct Target { weak var engine: SyncEngine? }
  private let target = Mutex(Target())

  func connect(to engine: SyncEngine) { target.withLock { $0.engine = engine } }

  func send(_ progress: SyncStatus.Progress) {
    let engine = target.withLock { $0.engine }
    engine?.tell(progress)
  }
}
