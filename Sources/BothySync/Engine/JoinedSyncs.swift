import Synchronization

/// The syncs that run or wait for their turn, by their requests, and the callers that wait for the report of each.
final class JoinedSyncs: Sendable {
  typealias Delivery = @Sendable (SyncReport) -> Void

  private struct Callers {
    /// Those that have joined so far, also those that were cancelled since.
    var total = 0
    var waiting: [Int: Delivery] = [:]
  }

  private struct State {
    var syncs: [SyncRunner.Request: Callers] = [:]
    var lastNumber = 0

    mutating func join(
      _ request: SyncRunner.Request, _ number: Int, _ deliver: @escaping Delivery
    ) -> Joining {
      guard syncs[request] != nil else {
        syncs[request] = Callers()
        return .leads
      }
      // A cancellation before this found no caller.
      if Task.isCancelled { return .cancelled }
      syncs[request]?.total += 1
      syncs[request]?.waiting[number] = deliver
      return .waits
    }
  }

  private enum Joining { case waits, leads, cancelled }

  private let state = Mutex(State())

  var isEmpty: Bool { state.withLock { $0.syncs.isEmpty } }
  /// The number of callers that wait for the reports of others' syncs.
  var waitingCount: Int { state.withLock { $0.syncs.values.reduce(0) { $0 + $1.waiting.count } } }

  /// Returns the report of the sync that has this request. Returns `nil`, after noting the sync, if there is none. A
  /// caller that is cancelled gets a report that says so at once.
  func join(_ request: SyncRunner.Request) async -> SyncReport? {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        switch state.withLock({ $0.join(request, number) { continuation.resume(returning: $0) } }) {
        case .waits: break
        case .leads: continuation.resume(returning: nil)
        case .cancelled: continuation.resume(returning: SyncReport(stop: .cancelled))
        }
      }
    } onCancel: {
      state.withLock { $0.syncs[request]?.waiting.removeValue(forKey: number) }?(SyncReport(stop: .cancelled))
    }
  }

  /// Returns the number of callers that have joined a sync so far.
  func total(_ request: SyncRunner.Request) -> Int { state.withLock { $0.syncs[request]?.total ?? 0 } }

  /// Ends the sync and returns the callers that wait for it. Returns `nil`, with nothing done, if more than `known` have
  /// joined, because their new writes must be checked.
  func end(_ request: SyncRunner.Request, unlessMoreThan known: Int = .max) -> [Delivery]? {
    state.withLock { state in
      guard state.syncs[request]?.total ?? 0 <= known else { return nil }
      return state.syncs.removeValue(forKey: request)?.waiting.sorted { $0.key < $1.key }.map(\.value) ?? []
    }
  }
}
