import BothyStore
import BothySync
import BothySyncService
import BothyTesting

/// Runs a history on devices and a server in this process, then a calm phase, and checks the result.
final class TypesRunner {
  let history: TypesHistory
  let world: SimulatedWorld
  let settings: [TypesDevice]
  /// The number of events by name, so that a test can check that each kind of step had an effect.
  private(set) var happened: [String: Int] = [:]
  private(set) var log: [String] = []
  private(set) var problems: [TypesProblem] = []
  /// The values that were read long ago, by device.
  var held: [[RecordID: AnyRecord]]
  /// The receipts whose store is still open, by device.
  var receipts: [[SaveReceipt<AnyRecord>]]
  /// The devices that have ever subscribed to less than everything.
  var strayed: Set<Int> = []

  init(_ history: TypesHistory) throws {
    self.history = history
    let rules = AccessRules(schema: history.isEnforced ? TypesSchema.schema : nil)
    world = try SimulatedWorld(rules: rules)
    settings = history.devices.indices.map { TypesDevice(seed: history.seed &* 17 &+ UInt64($0)) }
    held = history.devices.map { _ in [:] }
    receipts = history.devices.map { _ in [] }
    for (index, device) in history.devices.enumerated() {
      let own = settings[index]
      let configuration = own.configuration(
        of: device, seed: history.seed &* 31 &+ UInt64(index), time: world.time)
      let added = try world.addDevice(schema: TypesSchema.schema, configuration: configuration)
      added.remote.setScript { own.next() }
    }
  }

  func count(_ what: String) { happened[what, default: 0] += 1 }
  func note(_ line: String) { log.append(line) }
  func complain(_ kind: TypesProblem.Kind, _ text: String) {
    let problem = TypesProblem(kind: kind, text: text)
    if !problems.contains(problem) { problems.append(problem) }
  }

  func device(_ index: Int) -> SimulatedDevice { world.devices[index] }
  func store(_ index: Int) -> SyncedStore { world.devices[index].store }

  /// Runs the history and returns the problems, or an empty array.
  func run() async throws -> [TypesProblem] {
    try await takeSteps()
    guard problems.isEmpty else { return problems }
    try await calm()
    try await judge()
    return problems
  }

  func takeSteps() async throws {
    for (number, step) in history.steps.enumerated() {
      world.time.advance(by: 1000)
      note("\(number): \(step)")
      do { try await take(step) } catch let error as BothyError {
        note("  threw \(error.code): \(error.message)")
      }
    }
  }

  /// Applies the faults to the requests that `body` makes.
  private func with(
    _ faults: [TypesHistory.Fault], _ index: Int, _ body: () async throws -> Void
  ) async throws {
    settings[index].plan(faults)
    defer { for fault in settings[index].clear() { count("fault \(fault.rawValue)") } }
    try await body()
  }

  private func take(_ step: TypesHistory.Step) async throws {
    switch step {
    case .write(let index, let act): try write(index, [act], .independent)
    case .atomic(let index, let acts): try write(index, acts, .atomic)
    case .draft(let index, let act): try await draft(index, act)
    case .release(let index): try release(index)
    case .read(let index, let name): try read(index, name)
    case .save(let index, let name, let content): try await save(index, name, content)
    case .online(let index, let name, let content, let only, let faults):
      try await with(faults, index) { try await online(index, name, content, only) }
    case .share(let index, let name, let user): try await share(index, name, user)
    case .unshare(let index, let name, let user): try await unshare(index, name, user)
    case .sync(let index, let faults):
      try await with(faults, index) { try await sync(index) }
    default: try await keepUp(step)
    }
  }

  private func keepUp(_ step: TypesHistory.Step) async throws {
    switch step {
    case .purge(let index, let name, let pending): try purge(index, name, pending)
    case .decide(let index, let number, let decision): try decide(index, number, decision)
    case .restore(let index, let number): try await restore(index, number)
    case .restart(let index): try restart(index)
    case .crash(let index, let at): try await crash(index, at)
    case .follow(let index, let names): try await follow(index, names)
    case .repair(let index):
      _ = try await store(index).maintenance.repair()
      count("repair")
    case .fetch(let index, let kind): try await fetch(index, kind)
    default: break
    }
  }

  private func sync(_ index: Int) async throws {
    let report = await store(index).sync()
    count("sync")
    note("  pushed \(report.pushed), pulled \(report.pulled), failed \(report.rejected.map(\.code))")
    if !report.overwritten.isEmpty { count("overwritten") }
    for failure in report.rejected {
      count("failure \(failure.code)")
      if history.isEnforced && failure.code != "mergeFailed" { count("refused by the rules") }
    }
    switch report.stop {
    case nil: break
    case .unreachable(let message): note("  \(message)")
    case .some(let reason): complain(.refused, "\(device(index).name) skipped a sync: \(reason)")
    }
  }
}
