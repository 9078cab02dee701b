/// The limits for requests to a source and for the length of its responses.
///
/// They hold for one cache. Besides them, a cache has at most 16 requests at a time to all hosts together, or as many as
/// the source with the highest `requestsPerHost` allows.
public struct SourceLimits: Sendable, Hashable {
  /// The number of simultaneous requests to one host. If sources share a host, the stricter number applies to all.
  package var requestsPerHost: Int
  /// The number of requests a second to one host, on average, or `nil` for no limit.
  package var requestsPerSecond: Double?
  /// The number of requests that may be sent at once after a quiet time, if a rate is set.
  package var burst: Int
  /// The number of the source's hosts that share the resources. The other hosts replace one that fails.
  ///
  /// Connections that carry several requests at a time need only one host.
  package var parallelHosts: Int
  /// The longest accepted body in bytes, without content coding.
  package var bodyBytes: Int
  /// The total of requests, if each ends in a temporary error.
  ///
  /// The waits between them are a random part of a bound that doubles, from `firstDelay` to `longestDelay`.
  package var attempts: Int
  /// The bound of the first wait.
  package var firstDelay: Duration
  /// The highest bound of a wait.
  package var longestDelay: Duration
  /// The longest time that a read waits for a host that requested a pause (`Retry-After`) or counts as down.
  package var patience: Duration
  /// The longest time that a read waits for a response if it can return a stored copy instead.
  package var patienceWithCopy: Duration
  /// The longest time until the head of a response, and the longest time without a kilobyte of its body.
  package var timeout: Duration

  /// Creates limits. The defaults are polite to a foreign server.
  ///
  /// They allow 6 requests at a time, three attempts, and bodies up to 64 MiB. Counts below one count as one.
  ///
  /// - Parameters:
  ///   - requestsPerHost: the number of simultaneous requests to one host. If sources share a host, the stricter number
  ///     applies to all.
  ///   - requestsPerSecond: the number of requests a second to one host, on average, or `nil` for no limit.
  ///   - burst: the number of requests that may be sent at once after a quiet time, if a rate is set.
  ///   - parallelHosts: the number of the source's hosts that share the resources. The others replace one that fails.
  ///   - bodyBytes: the longest accepted body in bytes, without content coding. A longer one throws `BothyError`
  ///     `.tooLarge`.
  ///   - attempts: the total of requests, if each ends in a temporary error. With more hosts than attempts, each host
  ///     may be tried once. A read that can return a stored copy tries each host once at most.
  ///   - firstDelay: the bound of the random wait after the first error. It doubles after each.
  ///   - longestDelay: the highest bound of a wait.
  ///   - patience: the longest wait of a read for a host that requested a pause (`Retry-After`) or counts as down. A
  ///     longer pause throws at once, with `retryAfter`.
  ///   - patienceWithCopy: the longest wait of a read that can return a stored copy. It returns the copy after that, and
  ///     the request goes on in the background.
  ///   - timeout: the longest time until the head of a response, and the longest time without a kilobyte of its body.
  ///     A request that exceeds it ends. A server that sends single bytes so holds none for long.
  public init(
    requestsPerHost: Int = 6, requestsPerSecond: Double? = nil, burst: Int = 10, parallelHosts: Int = 2,
    bodyBytes: Int = 64 << 20, attempts: Int = 3, firstDelay: Duration = .milliseconds(500),
    longestDelay: Duration = .seconds(30), patience: Duration = .seconds(10),
    patienceWithCopy: Duration = .seconds(2), timeout: Duration = .seconds(20)
  ) {
    self.requestsPerHost = requestsPerHost
    self.requestsPerSecond = requestsPerSecond
    self.burst = burst
    self.parallelHosts = max(1, parallelHosts)
    self.bodyBytes = max(0, bodyBytes)
    self.attempts = attempts
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.patience = patience
    self.patienceWithCopy = patienceWithCopy
    self.timeout = timeout
  }

  var perHost: HostLimits {
    HostLimits(perHost: requestsPerHost, ratePerSecond: requestsPerSecond, burst: burst)
  }

  var retry: RetryRules {
    RetryRules(attempts: attempts, first: firstDelay, limit: longestDelay, patience: patience)
  }
}
