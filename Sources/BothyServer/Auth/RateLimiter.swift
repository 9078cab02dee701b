import Synchronization

/// A token bucket for each key. It admits `burst` requests at once and `rate` requests a second in the long run.
///
/// Memory is bounded: full buckets are deleted. If too many buckets aren't full, new keys share one bucket.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
  private let rate: Double
  private let burst: Double
  private let capacity: Int
  private let state: Mutex<State>

  private struct Bucket {
    var tokens: Double
    var updated: Duration
  }

  private struct State: Sendable {
    var buckets: [Key: Bucket] = [:]
    var shared: Bucket
    var cleaned = Duration.zero
  }

  /// Returns `nil` if `rate` sets no limit.
  package init?(rate: Double?, burst: Int, capacity: Int = 50_000) {
    guard let rate, rate > 0 else { return nil }
    self.rate = rate
    self.burst = Double(max(1, burst))
    self.capacity = capacity
    state = Mutex(State(shared: Bucket(tokens: Double(max(1, burst)), updated: .zero)))
  }

  /// The number of buckets in memory.
  package var count: Int { state.withLock { $0.buckets.count } }

  /// Takes one token at `now`, a monotonic time. Returns `nil`, or the whole seconds to wait.
  package func delay(for key: Key, at now: Duration) -> Int? {
    state.withLock { state in
      if let bucket = state.buckets[key] {
        let (rest, wait) = take(from: bucket, at: now)
        state.buckets[key] = rest
        return wait
      }
      makeRoom(in: &state, at: now)
      if state.buckets.count >= capacity {
        let (rest, wait) = take(from: state.shared, at: now)
        state.shared = rest
        return wait
      }
      let (rest, wait) = take(from: Bucket(tokens: burst, updated: now), at: now)
      state.buckets[key] = rest
      return wait
    }
  }

  private func take(from bucket: Bucket, at now: Duration) -> (rest: Bucket, wait: Int?) {
    var bucket = bucket
    bucket.tokens = refilled(bucket, at: now)
    bucket.updated = max(bucket.updated, now)
    if bucket.tokens >= 1 {
      bucket.tokens -= 1
      return (bucket, nil)
    }
    let seconds = min(((1 - bucket.tokens) / rate).rounded(.up), 86_400)
    return (bucket, max(1, Int(seconds)))
  }

  /// Deletes full buckets. Visits all buckets, so it runs at most once a second.
  private func makeRoom(in state: inout State, at now: Duration) {
    guard state.buckets.count >= capacity, now - state.cleaned >= .seconds(1) || state.cleaned == .zero else {
      return
    }
    state.cleaned = now
    state.buckets = state.buckets.filter { refilled($0.value, at: now) < burst }
  }

  private func refilled(_ bucket: Bucket, at now: Duration) -> Double {
    min(burst, bucket.tokens + max(0, (now - bucket.updated) / .seconds(1)) * rate)
  }
}
