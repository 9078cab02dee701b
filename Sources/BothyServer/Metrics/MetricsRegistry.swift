public import CoreMetrics
import Synchronization

/// Keeps the metrics of this process in memory, for `/metrics` to print.
///
/// It is a `MetricsFactory`, so it can also be bootstrapped as the process's metrics system. Then it holds the
/// libraries' metrics too. Each access to a metric costs a lock and a look-up.
public final class MetricsRegistry: MetricsFactory {
  struct Key: Hashable, Comparable {
    var label: String
    var dimensions: [[String]]

    static func < (left: Key, right: Key) -> Bool {
      if left.label != right.label { return left.label < right.label }
      return left.dimensions.lexicographicallyPrecedes(right.dimensions) { $0.lexicographicallyPrecedes($1) }
    }
  }

  struct Table: Sendable {
    var counters: [Key: Count] = [:]
    var gauges: [Key: Gauge] = [:]
    var histograms: [Key: Histogram] = [:]
  }

  let table = Mutex(Table())

  /// Creates a registry without metrics. Each metric is created on first use and kept from then on.
  public init() {}

  private static func key(_ label: String, _ dimensions: [(String, String)]) -> Key {
    Key(label: label, dimensions: dimensions.map { [$0.0, $0.1] })
  }

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    let key = Self.key(label, dimensions)
    return table.withLock { Self.kept(key, in: &$0.counters, else: Count()) }
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gauge(Self.key(label, dimensions))
  }

  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    let key = Self.key(label, dimensions)
    return aggregate ? histogram(key) : gauge(key)
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(Self.key(label, dimensions))
  }

  /// Sets a counter whose total is maintained elsewhere.
  func setCounter(_ label: String, _ dimensions: [(String, String)] = [], to total: Int64) {
    let key = Self.key(label, dimensions)
    table.withLock { Self.kept(key, in: &$0.counters, else: Count()) }.total.store(total, ordering: .relaxed)
  }

  private func gauge(_ key: Key) -> Gauge {
    table.withLock { Self.kept(key, in: &$0.gauges, else: Gauge()) }
  }

  private func histogram(_ key: Key) -> Histogram {
    table.withLock { Self.kept(key, in: &$0.histograms, else: Histogram()) }
  }

  private static func kept<Metric>(
    _ key: Key, in metrics: inout [Key: Metric], else new: @autoclosure () -> Metric
  ) -> Metric {
    if let known = metrics[key] { return known }
    let made = new()
    metrics[key] = made
    return made
  }

  /// Does nothing, because a counter's total outlives its handler.
  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyMeter(_ handler: any MeterHandler) {}
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricsRegistry {
  final class Count: CounterHandler {
    let total = Atomic<Int64>(0)

    func increment(by amount: Int64) { total.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { total.store(0, ordering: .relaxed) }
  }

  final class Gauge: MeterHandler, RecorderHandler {
    let value = Mutex(0.0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
  }

  /// Counts of values by upper bound, in seconds. Durations of timers are converted from nanoseconds.
  final class Histogram: TimerHandler, RecorderHandler {
    static let bounds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    struct Counts: Sendable {
      /// The number of values in each interval. The last interval is beyond every bound.
      var intervals = [Int](repeating: 0, count: Histogram.bounds.count + 1)
      var sum = 0.0
    }

    let counts = Mutex(Counts())

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
      let interval = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
      counts.withLock { counts in
        counts.intervals[interval] += 1
        counts.sum += value
      }
    }
  }
}
