import BothyStore
import Synchronization

/// The estimate of the server's reachability. It comes from the last call's success or failure or from the system's
/// report on the network, whichever was later.
final class ReachabilityEstimate: Sendable {
  private struct State {
    var status = SyncStatus.NetworkStatus.unknown
    /// In milliseconds since 1970, by the device's clock.
    var heard: Int64?
  }

  private let state = Mutex(State())
  private let changes = Broadcast<SyncStatus.NetworkStatus>()

  func hear(_ status: SyncStatus.NetworkStatus, at now: Int64) {
    let isNew = state.withLock { state in
      defer { state = State(status: status, heard: now) }
      return state.status != status
    }
    if isNew { changes.send(status) }
  }

  func hint(at now: Int64) -> ReachabilityHint {
    let state = state.withLock { $0 }
    return ReachabilityHint(
      reachability: state.status, age: state.heard.map { .milliseconds(max(0, now - $0)) })
  }

  /// Runs a call within a time limit and notes its result. A cancelled call has none, and any answer, also a rejection,
  /// shows that the server is there.
  func noting<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    do {
      let value = try await Bounded.request(within: limit, clock, call)
      hear(.reachable, at: clock.now())
      return value
    } catch {
      if !Task.isCancelled {
        hear(error.errorClass == .unreachable ? .notReachable : .reachable, at: clock.now())
      }
      throw error
    }
  }

  func values() -> AsyncStream<SyncStatus.NetworkStatus> {
    changes.values(startingWith: state.withLock { $0.status })
  }
}
