import BothyStore
import BothySync
import BothyTesting
import Logging
import Synchronization

/// The settings of a device in a history: the faults of its next requests, and its own merge policy.
final class TypesDevice: Sendable {
  struct Undecided: Error {}

  private let faults = Mutex<[TypesHistory.Fault]>([])
  private let struck = Mutex<[TypesHistory.Fault]>([])
  private let random: Mutex<SeededGenerator>
  private let isCalm = Mutex(false)

  /// - Parameter seed: the seed for the decisions of the policy.
  init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

  /// Sets the faults of the next requests.
  func plan(_ faults: [TypesHistory.Fault]) { self.faults.withLock { $0 = faults } }

  /// Removes the planned faults. Returns the faults that have struck since the last call.
  func clear() -> [TypesHistory.Fault] {
    plan([])
    return struck.withLock { struck in
      defer { struck = [] }
      return struck
    }
  }

  /// Returns the fault of the next request.
  func next() -> FaultyRemote.Fault {
    let fault = faults.withLock { $0.isEmpty ? .none : $0.removeFirst() }
    if fault != .none { struck.withLock { $0.append(fault) } }
    return fault.fault
  }

  /// Makes the policy decide every conflict from now on.
  func calm() { isCalm.withLock { $0 = true } }

  private func decide(_ context: MergeContext) throws -> MergeDecision {
    switch random.withLock({ Int.random(in: 0..<6, using: &$0) }) {
    case 0..<2 where !isCalm.withLock { $0 }: throw Undecided()
    case 2: return .server
    case 3: return .client
    default:
      guard let server = context.serverFields, var merged = context.client else { return .server }
      for (name, value) in server where merged[name] == context.base?[name] { merged[name] = value }
      return .merged(merged)
    }
  }

  /// The configuration of a device of the history.
  func configuration(of device: TypesHistory.Device, seed: UInt64, time: VirtualTime) -> SyncOptions {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy(device.policy))
    configuration.rejectionPolicy =
      switch device.refusals {
      case .keep: .keepPending
      case .quarantine: .quarantine(after: 1)
      case .discard: .discardAndRefetch
      }
    configuration.batchSize = device.batch
    configuration.pageSize = device.page
    configuration.writePolicy = .local
    configuration.logger.logLevel = .critical
    let ids = Mutex(SeededGenerator(seed: seed))
    configuration.makeOperationID = {
      ids.withLock { UUIDv7.make(at: Timestamp(milliseconds: time.now), using: &$0) }
    }
    return configuration
  }

  private func policy(_ policy: TypesHistory.Policy) -> MergePolicy {
    switch policy {
    case .fieldByField: .fieldByField
    case .remoteWins: .remoteWins
    case .localWins: .localWins
    case .latestWins: .latestWins
    case .wayward: .custom { [self] in try decide($0) }
    }
  }
}
