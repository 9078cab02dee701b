import BothyStore
import Synchronization

/// The estimate of the server's reachability. It comes from the last call's success or failure or from the system's
/// report on the network, whichever was later.
final class ReachabilityEstimate: Sendable {
  private struct State {
    /// `nil` before the first call and report.
    var isReachable: Bool?
    /// In milliseconds since 1970, by the device's clock.
    var heard: Int64?
  }

  private let state = Mutex(State())
  private let changes = Broadcast<Bool?>()

  func hear(_ isReachable: Bool?, at now: Int64) {
    let isNew = state.withLock { state in
      defer { state = State(isReachable: isReachable, heard: now) }
      return state.isReachable != isReachable
    }
    if isNew { changes.send(isReachable) }
  }

  func hint(at now: Int64) -> ReachabilityHint {
    let state = state.withLock { $0 }
    return ReachabilityHint(
      isReachable: state.isReachable, age: state.heard.map { .milliseconds(max(0, now - $0)) })
  }

  /// Runs a call within a time limit and notes its result. A cancelled call has none, and any answer, also a rejection,
  /// shows that the server is there.
  func noting<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    do {
      let value = try await Bounded.request(within: limit, clock, call)
      hear(true, at: clock.now())
      return value
    } catch {
      if !Task.isCancelled {
        hear(error.errorClass != .unreachable, at: clock.now())
      }
      throw error
    }
  }

  func values() -> AsyncStream<Bool?> {
    changes.values(startingWith: state.withLock { $0.isReachable })
  }
}
