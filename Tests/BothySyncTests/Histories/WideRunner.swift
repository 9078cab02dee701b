import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Logging
import Synchronization

/// The runner of a history on devices and a server in this process, which finally checks the result.
final class WideRunner {
  let history: WideHistory
  let world: SimulatedWorld
  let intent: Intent
  /// The number of occurrences of each kind of step, so that a test can check that each had an effect.
  private(set) var happened: [String: Int] = [:]
  /// Devices on which a change was accepted as synced, so that their records differ from those that the server
  /// acknowledged.
  var keepsOwn: Set<Int> = []
  /// Devices that have ended a sync with pulls since their file was created, so that they know a history.
  var met: Set<Int> = []
  /// Devices with a decision to upload their content that no sync has carried out for certain.
  var uploads: Set<Int> = []
  /// Devices that were told to stay apart from a server with another history.
  var apart: Set<Int> = []
  /// The number of the last entry of each device's journal that was read.
  var heard: [Int: Int64] = [:]
  private let switches: [PolicySwitch]

  /// A switch that makes a device's own policy throw, with the faults of its next requests.
  final class PolicySwitch: Sendable {
    let fails = Mutex(false)
    let faults = Mutex<[WideHistory.Fault]>([])
    let fired = Mutex<[WideHistory.Fault]>([])

    /// Returns the fault of the next request, for records or for a part of a file.
    func next() -> WideHistory.Fault {
      let fault = faults.withLock { $0.isEmpty ? .none : $0.removeFirst() }
      if fault != .none { fired.withLock { $0.append(fault) } }
      return fault
    }
  }

  struct PolicyFailed: Error {}

  init(_ history: WideHistory, isLogged: Bool = true) async throws {
    self.history = history
    world = try await WideStorages.world(of: history)
    intent = Intent(history, isLogged: isLogged)
    switches = history.devices.map { _ in PolicySwitch() }
    for (index, device) in history.devices.enumerated() {
      let added = try world.addDevice(
        schema: .sheets, configuration: configuration(of: index, device), skew: device.skew,
        onExchange: { [intent] in intent.follow($0, $1, from: index) })
      let own = switches[index]
      added.remote.setScript { own.next().fault }
      added.remote.setBlobScript { _ in own.next().fault }
    }
  }

  private func configuration(of index: Int, _ device: WideHistory.Device) -> SyncOptions {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy(of: index, device.policy))
    configuration.batchSize = device.batch
    configuration.pageSize = device.page
    // A file takes three requests, so that faults and kills hit unfinished ones.
    configuration.blobs.partSize = 8
    configuration.scopes = Self.scopes(device.scopes)
    switch device.refusals {
    case .keep: configuration.rejectionPolicy = .keepPending
    case .quarantine: configuration.rejectionPolicy = .quarantine(after: 1)
    case .discard: configuration.rejectionPolicy = .discardAndRefetch
    }
    configuration.logger.logLevel = .critical
    let ids = Mutex(SeededGenerator(seed: history.seed &* 31 &+ UInt64(index)))
    configuration.makeOperationID = { [time = world.time] in
      ids.withLock { UUIDv7.make(at: Timestamp(milliseconds: time.now), using: &$0) }
    }
    return configuration
  }

  private func policy(of index: Int, _ policy: WideHistory.Policy) -> MergePolicy {
    switch policy {
    case .fieldByField: return .fieldByField
    case .remoteWins: return .remoteWins
    case .localWins: return .localWins
    case .changedFields: return .localWins(.changedFields)
    case .latestWins: return .latestWins
    case .throwing:
      let own = switches[index]
      return .custom { context in
        if own.fails.withLock({ $0 }) { throw PolicyFailed() }
        guard let server = context.serverFields else { return .client }
        guard let client = context.client else { return .server }
        let isLater = context.edited > (context.server?.modified ?? .min)
        return .merged(
          FieldMerge.merge(base: context.base ?? [:], client: client, server: server, clientIsLater: isLater)
          {
            context.schema?[$0]?.merge ?? .remote
          })
      }
    }
  }

  static func scopes(_ names: [String]) -> [SyncScope] {
    names.map { SyncScope(container: $0, includesChildren: true) }
  }

  /// Returns the problems of a history, or an empty array.
  static func problems(
    seed: UInt64 = 1, _ devices: [WideHistory.Device], _ steps: [WideHistory.Step]
  ) async throws -> [String] {
    try await WideRunner(WideHistory(seed: seed, devices: devices, steps: steps)).run()
  }

  func count(_ what: String) { happened[what, default: 0] += 1 }

  /// Runs the history, and returns its problems or an empty array.
  func run() async throws -> [String] {
    let problems = try await steps()
    return problems.isEmpty ? try await end() : problems
  }

  /// Runs the steps, up to the first that is judged wrong.
  func steps() async throws -> [String] {
    for (number, step) in history.steps.enumerated() {
      world.time.advance(by: 1000)
      intent.note("\(number): \(step)")
      do { try await take(step) } catch let error as BothyError {
        intent.note("  threw \(error.code): \(error.message)")
      }
      // No other device's journal can have changed.
      if let index = step.device { try readJournal(of: index) }
      if !intent.problems.isEmpty { break }
    }
    return intent.problems
  }

  func device(_ index: Int) -> SimulatedDevice { world.devices[index % world.devices.count] }

  /// Applies the faults to the requests that `body` makes.
  private func with(
    _ faults: [WideHistory.Fault], _ index: Int, _ body: () async throws -> Void
  ) async throws {
    let own = switches[index]
    own.faults.withLock { $0 = faults }
    own.fired.withLock { $0 = [] }
    defer {
      own.faults.withLock { $0 = [] }
      for fault in own.fired.withLock({ $0 }) { count("fault \(fault.rawValue)") }
    }
    try await body()
  }

  private func take(_ step: WideHistory.Step) async throws {
    switch step {
    case .write(let index, let act): try await write(index, [act], .independent)
    case .atomic(let index, let acts):
      try await write(index, acts, .atomic)
      count("together")
    case .draft(let index, let act): try await draft(index, act)
    case .release(let index): try release(index)
    case .online(let index, let act, let only, let faults):
      try await with(faults, index) { try await online(index, act, only) }
    case .sync(let index, let way, let faults, let act):
      try await with(faults, index) { try await sync(index, way.scope, during: act) }
    case .query(let index, let way, let faults):
      try await with(faults, index) { try await query(index, way) }
    case .refresh(let index, let faults):
      try await with(faults, index) { _ = try await device(index).store.downloadChanges() }
      count("refresh")
    case .live(let index, let number): try await live(index, number)
    case .purge(let index, let record, let pending): try purge(index, record, pending)
    case .decide(let index, let number, let decision): try decide(index, number, decision)
    case .restore(let index, let number): try await restore(index, number)
    case .beside(let index, let act, let syncs, let faults):
      try await with(faults, index) { try await beside(index, act, syncs) }
    case .export(let index, let again): try await export(index, again: again)
    case .adopt(let index, let way, let faults):
      try await with(faults, index) { try await adopt(index, way) }
    case .evict(let index, let faults): try await with(faults, index) { try await evict(index) }
    case .download(let index, let number, let faults):
      try await with(faults, index) { try await download(index, number) }
    case .follow(let index, let names): try await follow(index, names)
    case .restart(let index): try restart(index)
    case .kill(let index, let at, let faults):
      try await with(faults, index) { try await kill(index, at, isReported: true) }
    case .killUntold(let index, let at, let faults):
      try await with(faults, index) { try await kill(index, at, isReported: false) }
    case .policyFails(let index, let fails): switches[index].fails.withLock { $0 = fails }
    case .compact, .epoch, .refuse: try await takeServer(step)
    }
  }

  private func takeServer(_ step: WideHistory.Step) async throws {
    switch step {
    case .compact:
      // A device that uploads couldn't distinguish forgotten deletions from losses.
      guard uploads.isEmpty else { return }
      let head = try await world.storage.read(space: world.space) { $0.head }
      try await world.storage.compact(space: world.space, upTo: head)
      count("compaction")
    case .epoch:
      try await world.storage.startEpoch(space: world.space)
      intent.epochBegan()
      count("epoch")
    case .refuse(let refuses): world.setRules(refuses ? .withoutSheetNotes : AccessRules())
    default: break
    }
  }

  private func follow(_ index: Int, _ names: [String]) async throws {
    // An upload offers what is outside the scopes as new, also what others deleted there.
    guard !uploads.contains(index) else { return }
    try await device(index).store.follow(Self.scopes(names))
    count("follow")
  }

  private func sync(_ index: Int, _ scope: SyncDirection, during act: WideHistory.Act?) async throws {
    let device = device(index)
    if let act {
      let planned = Mutex<WideHistory.Act?>(act)
      device.remote.setDuringExchange { [intent, store = device.store] in
        guard
          let act = planned.withLock({ planned in
            defer { planned = nil }
            return planned
          })
        else { return }
        do { try await Self.write(act, index, store, intent) } catch {
          intent.complain("A write failed: \(error)")
        }
      }
    }
    let report = await device.store.sync(scope)
    device.remote.setDuringExchange {}
    hear(report, index, pulls: scope != .push)
    let reported = try news(index).filter(\.isLoss).map(\.record)
    if Set(reported) != Set(report.overwritten.map(\.record)) {
      intent.complain("Reported as lost: \(report.overwritten.map(\.record)), in the journal: \(reported)")
    }
    if act != nil { count("busy") }
  }

  func hear(_ report: SyncReport, _ index: Int, pulls: Bool = true) {
    intent.hear(report, index)
    if report.stop == nil && pulls {
      met.insert(index)
      uploads.remove(index)
    }
    if report.uploadedBlobs > 0 { count("upload") }
    if report.stop?.name == "otherServer" { count("other history") }
    if !report.overwritten.isEmpty { count("overwritten") }
    if !report.rebased.isEmpty { count("rebased") }
    if !report.blocked.isEmpty { count("blocked") }
    for failure in report.rejected { count("failure \(failure.code)") }
  }

  /// Reads the verdicts of writes from a device's journal, including decisions of a sync without a report.
  func readJournal(of index: Int) throws {
    let entries = try news(index)
    for entry in entries.reversed() { intent.hear(entry, index) }
    heard[index] = entries.first?.number ?? heard[index]
  }

  private func news(_ index: Int) throws -> [JournalEntry] {
    try device(index).store.journal.entries(after: heard[index], limit: 10_000)
  }

  func policiesWorkAgain() { for each in switches { each.fails.withLock { $0 = false } } }
}

extension JournalEntry {
  /// True if the write lost all or part of its content. A rejected change that is still pending lost nothing.
  var isLoss: Bool {
    switch outcome {
    case .overwritten: true
    case .rejected: isFinal
    default: lost != nil
    }
  }
}

extension AccessRules {
  /// The rules of a server without the field `note` of sheets.
  static var withoutSheetNotes: AccessRules {
    var type = Sheet.schema
    type.fields.removeAll { $0.name == "note" }
    return AccessRules(schema: StoreSchema(types: [type]))
  }
}
