import Synchronization

/// The syncs that run or wait for their turn, by their requests, and the callers that wait for the report of each.
final class JoinedSyncs: Sendable {
  private struct Callers {
    /// Those that have joined so far, also those that were cancelled since.
    var total = 0
    var waiting: [Wait<SyncReport>] = []
  }

  private let syncs = Mutex<[SyncRunner.Request: Callers]>([:])

  var isEmpty: Bool { syncs.withLock { $0.isEmpty } }
  /// The number of callers that wait for the reports of others' syncs.
  var waitingCount: Int { syncs.withLock { $0.values.reduce(0) { $0 + $1.waiting.count } } }

  /// Returns the report of the sync that has this request. Returns `nil`, after noting the sync, if there is none. A
  /// caller that is cancelled gets a report that says so at once.
  func join(_ request: SyncRunner.Request) async -> SyncReport? {
    let wait = Wait<SyncReport>()
    let isFirst = syncs.withLock { syncs in
      guard syncs[request] != nil else {
        syncs[request] = Callers()
        return true
      }
      // A cancelled caller leaves at once.
      if Task.isCancelled { return false }
      syncs[request]?.total += 1
      syncs[request]?.waiting.append(wait)
      return false
    }
    if isFirst { return nil }
    do {
      return try await wait.value { [self] in
        syncs.withLock { syncs -> Void in syncs[request]?.waiting.removeAll { $0 === wait } }
      }
    } catch { return SyncReport(stop: .cancelled) }  // No sync ends with an error.
  }

  /// Returns the number of callers that have joined a sync so far.
  func total(_ request: SyncRunner.Request) -> Int { syncs.withLock { $0[request]?.total ?? 0 } }

  /// Ends the sync and returns the callers that wait for it. Returns `nil`, with nothing done, if more than `known` have
  /// joined, because their new writes must be checked.
  func end(_ request: SyncRunner.Request, unlessMoreThan known: Int = .max) -> [Wait<SyncReport>]? {
    syncs.withLock { syncs in
      guard syncs[request]?.total ?? 0 <= known else { return nil }
      return syncs.removeValue(forKey: request)?.waiting ?? []
    }
  }
}
