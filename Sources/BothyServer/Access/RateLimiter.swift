import BothySync
import Synchronization

/// A token bucket for each principal: so many requests at once, then so many a second.
///
/// Full buckets are forgotten now and then, so memory follows the callers of the last moments.
final class RateLimiter: Sendable {
  private let rate: Double
  private let burst: Double
  private let buckets = Mutex<[Principal: Bucket]>([:])

  private struct Bucket {
    var tokens: Double
    var updated: Duration
  }

  /// Nil when there is no limit.
  init?(_ limits: ServerConfiguration.Limits) {
    guard let rate = limits.requestsPerSecond, rate > 0 else { return nil }
    self.rate = rate
    burst = Double(max(1, limits.requestBurst))
  }

  /// Takes one token at `now`, a monotonic time. Returns nil, or how many whole seconds to wait.
  func delay(for principal: Principal, at now: Duration) -> Int? {
    buckets.withLock { buckets in
      if buckets.count > 10_000 { buckets = buckets.filter { refilled($0.value, at: now) < burst } }
      var bucket = buckets[principal] ?? Bucket(tokens: burst, updated: now)
      bucket.tokens = refilled(bucket, at: now)
      bucket.updated = now
      defer { buckets[principal] = bucket }
      if bucket.tokens >= 1 {
        bucket.tokens -= 1
        return nil
      }
      let seconds = min(((1 - bucket.tokens) / rate).rounded(.up), 86_400)
      return max(1, Int(seconds))
    }
  }

  private func refilled(_ bucket: Bucket, at now: Duration) -> Double {
    min(burst, bucket.tokens + max(0, (now - bucket.updated) / .seconds(1)) * rate)
  }
}
