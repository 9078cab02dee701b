import BothyCache
import Synchronization

/// The control of a run in this process: its settings, the request to pause, and its observers.
final class RegionControl: Sendable {
  private struct State {
    var isPaused = false
    var policy: PrefetchPolicy
    var network: NetworkState
    var last: RegionProgress?
    var followers: [Int: AsyncStream<RegionProgress>.Continuation] = [:]
    var nextFollower = 0
    var isEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// The waits of the run, which a pause ends.
    var waits: Set<Task<Void, Never>> = []
    /// The closures that cancel the requests of the run, by their numbers.
    var requests: [Int: @Sendable () -> Void] = [:]
    var nextRequest = 0
    /// True if no request is waited for any longer.
    var isCalledOff = false
  }

  private let state: Mutex<State>

  init(_ policy: PrefetchPolicy, _ network: NetworkState) {
    state = Mutex(State(policy: policy, network: network))
  }

  var isPaused: Bool { state.withLock { $0.isPaused } }
  var concurrentLoads: Int { state.withLock { $0.policy.concurrentLoads } }
  var obstacle: PrefetchPolicy.Obstacle? { state.withLock { $0.policy.obstacle($0.network) } }

  func pause() {
    let waits = state.withLock { state in
      state.isPaused = true
      return state.waits
    }
    for wait in waits { wait.cancel() }
  }

  func set(_ network: NetworkState) { state.withLock { $0.network = network } }
  func set(_ policy: PrefetchPolicy) { state.withLock { $0.policy = policy } }

  /// Waits on the cache's clock until the time is over, the run is paused or its task is cancelled.
  func wait(_ duration: Duration, of cache: ResourceCache) async {
    let wait = Task<Void, Never> {
      // The caller notices a pause and a cancellation.
      try? await cache.wait(duration)
    }
    let isPaused = state.withLock { state in
      if !state.isPaused { state.waits.insert(wait) }
      return state.isPaused
    }
    if isPaused { wait.cancel() }
    await withTaskCancellationHandler {
      await wait.value
    } onCancel: {
      wait.cancel()
    }
    state.withLock { _ = $0.waits.remove(wait) }
  }

  /// Runs work that waits for servers, and cancels it when the requests are called off or the task is cancelled.
  func asking<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task { try await work() }
    let number = state.withLock { state -> Int? in
      if state.isCalledOff { return nil }
      state.nextRequest += 1
      state.requests[state.nextRequest] = { task.cancel() }
      return state.nextRequest
    }
    if number == nil { task.cancel() }
    defer { if let number { state.withLock { $0.requests[number] = nil } } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Cancels the requests of the run, and later ones at once.
  func callOff() {
    let requests = state.withLock { state in
      state.isCalledOff = true
      defer { state.requests = [:] }
      return Array(state.requests.values)
    }
    for cancel in requests { cancel() }
  }

  func send(_ progress: RegionProgress) {
    let followers = state.withLock { state in
      state.last = progress
      return Array(state.followers.values)
    }
    for follower in followers { follower.yield(progress) }
  }

  func follow(_ follower: AsyncStream<RegionProgress>.Continuation) {
    let number = state.withLock { state -> Int? in
      if state.isEnded { return nil }
      if let last = state.last { follower.yield(last) }
      state.nextFollower += 1
      state.followers[state.nextFollower] = follower
      return state.nextFollower
    }
    guard let number else { return follower.finish() }
    follower.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.followers.removeValue(forKey: number) }
    }
  }

  /// Ends the run and notifies its observers and the callers of `ended()`.
  func end() {
    let (followers, waiters) = state.withLock { state in
      state.isEnded = true
      defer { (state.followers, state.waiters) = ([:], []) }
      return (Array(state.followers.values), state.waiters)
    }
    for follower in followers { follower.finish() }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until the run has ended.
  func ended() async {
    await withCheckedContinuation { continuation in
      let isEnded = state.withLock { state in
        if !state.isEnded { state.waiters.append(continuation) }
        return state.isEnded
      }
      if isEnded { continuation.resume() }
    }
  }
}
