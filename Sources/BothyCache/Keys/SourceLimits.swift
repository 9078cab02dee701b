/// How hard a source may be asked, and how much of it is taken in.
public struct SourceLimits: Sendable, Hashable {
  /// Requests under way to one host. Where sources share a host, the stricter number holds for all.
  public var requestsPerHost: Int
  /// Requests a second to one host, over time; nil for no limit.
  public var requestsPerSecond: Double?
  /// How many may go out at once after a quiet time, when there is a rate.
  public var burst: Int
  /// How many of the source's hosts are asked side by side; the others stand in when one fails. Connections that carry
  /// many requests need one.
  public var parallelHosts: Int
  /// The longest body that is taken, in bytes, after any content coding is undone.
  public var bodyBytes: Int
  /// Requests in all when each comes to an error that may pass. The waits between them are a random part of a bound
  /// that doubles, from `firstDelay` to `longestDelay`.
  public var attempts: Int
  /// The bound of the first wait.
  public var firstDelay: Duration
  /// The highest bound of a wait.
  public var longestDelay: Duration
  /// The longest a read waits for a host that asked to be left alone (`Retry-After`) or is taken to be down.
  public var patience: Duration
  /// The longest until the head of an answer, and the longest without a byte of its body.
  public var timeout: Duration

  /// The defaults are polite to a server of somebody else's: 6 requests at a time, three attempts, bodies up to 64
  /// MiB.
  public init(
    requestsPerHost: Int = 6, requestsPerSecond: Double? = nil, burst: Int = 10, parallelHosts: Int = 2,
    bodyBytes: Int = 64 << 20, attempts: Int = 3, firstDelay: Duration = .milliseconds(500),
    longestDelay: Duration = .seconds(30), patience: Duration = .seconds(10), timeout: Duration = .seconds(20)
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
    self.timeout = timeout
  }

  var perHost: HostLimits {
    HostLimits(perHost: requestsPerHost, ratePerSecond: requestsPerSecond, burst: burst)
  }

  var retry: RetryRules {
    RetryRules(attempts: attempts, first: firstDelay, limit: longestDelay, patience: patience)
  }
}
