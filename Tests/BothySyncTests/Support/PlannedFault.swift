import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

/// One fault or interruption that a story plans, and the number of times that it struck.
final class PlannedFault: Sendable {
  /// The faults of the running test, for suites with the trait `.faultsStrike`.
  @TaskLocal fileprivate static var ofTest: Mutexed?

  /// A list that the test and its exchanges share.
  fileprivate final class Mutexed: Sendable {
    let faults = Mutex<[PlannedFault]>([])
  }

  private let name: String
  private let location: SourceLocation
  private let strikes = Mutex(0)

  /// Adds a fault to the list of the running test, which fails at its end if the fault never struck.
  init(_ name: String, _ location: SourceLocation) {
    self.name = name
    self.location = location
    guard let list = Self.ofTest else {
      Issue.record("A suite that plans faults needs the trait .faultsStrike.", sourceLocation: location)
      return
    }
    list.faults.withLock { $0.append(self) }
  }

  /// Counts one strike, unless there were `most` before.
  func strike(atMost most: Int = .max) -> Bool {
    strikes.withLock { count in
      guard count < most else { return false }
      count += 1
      return true
    }
  }

  fileprivate func check() {
    guard strikes.withLock({ $0 }) == 0 else { return }
    Issue.record("This fault never struck, so the story did not happen: \(name).", sourceLocation: location)
  }
}

/// Fails a test at its end for each planned fault that never struck.
struct FaultsStrike: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let list = PlannedFault.Mutexed()
    try await PlannedFault.$ofTest.withValue(list) { try await function() }
    for fault in list.faults.withLock({ $0 }) { fault.check() }
  }
}

extension Trait where Self == FaultsStrike {
  /// Fails each test at its end for a planned fault that never struck.
  static var faultsStrike: FaultsStrike { FaultsStrike() }
}

/// The content of an exchange that a planned fault strikes.
enum FaultTarget: Sendable, Hashable {
  /// Any exchange, and any query as well.
  case anything
  /// An operation of any kind.
  case operations
  /// An operation on the record with this id.
  case operation(on: String)
  /// A pull without operations.
  case pullAlone

  func isIn(_ request: SyncRequest) -> Bool {
    switch self {
    case .anything: true
    case .operations: !request.operations.isEmpty
    case .operation(let id): request.operations.contains { $0.record.id == id }
    case .pullAlone: !request.pulls.isEmpty && request.operations.isEmpty
    }
  }
}

extension FaultyRemote {
  /// Applies `fault` to exchanges that contain `target`, at most `times` times.
  ///
  /// The test fails at its end if it never happened.
  func plan(
    _ fault: Fault, on target: FaultTarget = .anything, times: Int = .max,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let planned = PlannedFault("\(fault) on \(target)", sourceLocation)
    guard target != .anything else { return setScript { planned.strike(atMost: times) ? fault : .none } }
    setScript(forExchange: { target.isIn($0) && planned.strike(atMost: times) ? fault : .none })
  }

  /// Applies the fault of `script` to each exchange and query. The test fails at its end if no fault struck.
  func plan(
    sourceLocation: SourceLocation = #_sourceLocation, script: @escaping @Sendable () -> Fault
  ) {
    let planned = PlannedFault("a script", sourceLocation)
    setScript {
      let fault = script()
      if fault != .none { _ = planned.strike() }
      return fault
    }
  }

  /// Applies the fault of `script` to each exchange. The test fails at its end if no fault struck.
  func plan(
    sourceLocation: SourceLocation = #_sourceLocation,
    forExchange script: @escaping @Sendable (SyncRequest) -> Fault
  ) {
    let planned = PlannedFault("a script for exchanges", sourceLocation)
    setScript(forExchange: { request in
      let fault = script(request)
      if fault != .none { _ = planned.strike() }
      return fault
    })
  }

  /// Runs `body` once, while the response to an exchange with `target` is on its way. The test fails if that never
  /// happens.
  func interrupt(
    on target: FaultTarget, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable () async throws -> Void
  ) {
    let planned = PlannedFault("an interruption on \(target)", sourceLocation)
    setDuringExchange { [weak self] in
      guard let request = self?.requests.last, target.isIn(request), planned.strike(atMost: 1) else { return }
      do { try await body() } catch { Issue.record(error, sourceLocation: sourceLocation) }
    }
  }
}
