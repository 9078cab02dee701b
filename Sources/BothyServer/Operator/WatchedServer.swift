import BothyStore

/// The state of one server process: its last answers, and its highest values since the first look.
package struct WatchedServer: Sendable {
  /// The highest value of a gauge, with its time.
  package struct Peak: Sendable, Hashable {
    package var value: Double
    package var at: Int64
  }

  /// A look that was answered: the metrics and the time.
  struct Look: Sendable {
    var metrics: MetricsText
    var at: Int64
  }

  package let url: String
  /// The time of the first look.
  package let watchedSince: Int64
  /// The time of the last answer, or `nil` without one.
  package private(set) var answeredAt: Int64?
  /// The time of the first look without an answer since the last one with it; `nil` while it answers.
  package private(set) var awaySince: Int64?
  /// The reason why the last look had no answer, as a sentence.
  package private(set) var problem: String?
  /// True if `/readyz` answered 200 at the last look; `nil` if it wasn't asked yet.
  package private(set) var isReady: Bool?
  /// The reason why the process isn't ready.
  package private(set) var unreadiness: String?
  private(set) var last: Look?
  private(set) var former: Look?
  private var peaks: [String: Peak] = [:]
  /// Counts of refusals at past looks, the oldest first.
  private var counts: [(at: Int64, values: [String: Double])] = []

  /// The most looks whose counts are remembered: ten minutes of them.
  private static let lookLimit = 120

  package init(_ url: String, at time: Int64) {
    self.url = url
    watchedSince = time
  }

  /// The metrics of the last answer. They are older than now while the process is away.
  package var metrics: MetricsText? { last?.metrics }

  /// Notes an answer. `unreadiness` is `nil` if `/readyz` answered 200.
  package mutating func answered(_ metrics: MetricsText, unreadiness: String?, at time: Int64) {
    (answeredAt, awaySince, problem) = (time, nil, nil)
    (isReady, self.unreadiness) = (unreadiness == nil, unreadiness)
    former = last
    last = Look(metrics: metrics, at: time)
    for gauge in LimitUse.gauges {
      for sample in metrics.all(gauge) {
        let known = peaks[sample.series]
        if known.map({ sample.value > $0.value }) ?? true {
          peaks[sample.series] = Peak(value: sample.value, at: time)
        }
      }
    }
    counts.append((time, Refusals.counts(metrics)))
    if counts.count > Self.lookLimit { counts.removeFirst(counts.count - Self.lookLimit) }
  }

  /// Notes a look without an answer.
  package mutating func missed(_ reason: String, at time: Int64) {
    awaySince = awaySince ?? time
    problem = reason
  }

  /// Returns the highest value of a series since the first look.
  func peak(_ series: String) -> Peak? { peaks[series] }

  /// The time since which `lately` counts.
  var countedSince: Int64? { counts.first?.at }

  /// Returns how much each count of refusals grew since `countedSince`. A process that was started again counts from 0.
  func lately() -> [String: Double] {
    guard let first = counts.first, let last = counts.last else { return [:] }
    return last.values.reduce(into: [:]) { found, count in
      let before = first.values[count.key] ?? 0
      found[count.key] = count.value < before ? count.value : count.value - before
    }
  }

  /// Returns the growth of a counter for each second between the last two answers, or `nil` before there are two.
  func rate(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    guard let last, let former, last.at > former.at, let now = last.metrics.sum(name, labels) else {
      return nil
    }
    let before = former.metrics.sum(name, labels) ?? 0
    return (now < before ? now : now - before) / (Double(last.at - former.at) / 1000)
  }

  /// Returns the mean of a histogram in seconds between the last two answers, or of all its values before there are two.
  /// Returns `nil` without a value.
  func mean(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    guard let last, let count = last.metrics.sum(name + "_count", labels), count > 0,
      let sum = last.metrics.sum(name + "_sum", labels)
    else { return nil }
    guard let former, let before = former.metrics.sum(name + "_count", labels), before <= count else {
      return sum / count
    }
    guard count > before else { return nil }
    return (sum - (former.metrics.sum(name + "_sum", labels) ?? 0)) / (count - before)
  }
}
