import Synchronization

/// The Prometheus text format, version 0.0.4.
extension MetricsRegistry {
  static let textType = "text/plain; version=0.0.4; charset=utf-8"

  /// All metrics, sorted and grouped by family, in the text format of Prometheus.
  ///
  /// Makes the text with each read, and may be read from any thread. Empty without metrics.
  public var prometheusText: String {
    let table = table.withLock { $0 }
    var text = ""
    var family = ""
    func begin(_ key: Key, _ kind: String) -> String {
      let name = Self.name(key.label)
      if family != name { text += "\(Self.help(name))# TYPE \(name) \(kind)\n" }
      family = name
      return name
    }
    for (key, count) in table.counters.sorted(by: { $0.key < $1.key }) {
      let name = begin(key, "counter")
      text += "\(name)\(Self.labels(key)) \(count.total.load(ordering: .relaxed))\n"
    }
    for (key, gauge) in table.gauges.sorted(by: { $0.key < $1.key }) {
      let name = begin(key, "gauge")
      text += "\(name)\(Self.labels(key)) \(Self.number(gauge.value.withLock { $0 }))\n"
    }
    for (key, histogram) in table.histograms.sorted(by: { $0.key < $1.key }) {
      text += Self.lines(of: histogram, begin(key, "histogram"), key)
    }
    return text
  }

  /// Returns the line that explains one of the server's own metrics.
  private static func help(_ name: String) -> String {
    ServerMetric.everything.first { $0.name == name }.map {
      "# HELP \(name) \($0.about)\n"
    } ?? ""
  }

  private static func lines(of histogram: Histogram, _ name: String, _ key: Key) -> String {
    let counts = histogram.counts.withLock { $0 }
    // The labels are the same on all lines but for the bound, and cost most of the time.
    let labels = labels(key)
    let open = "\(name)_bucket" + (labels.isEmpty ? "{" : labels.dropLast() + ",")
    var text = ""
    var total = 0
    for (index, count) in counts.intervals.enumerated() {
      total += count
      let bound = index < Histogram.bounds.count ? number(Histogram.bounds[index]) : "+Inf"
      text += "\(open)le=\"\(bound)\"} \(total)\n"
    }
    text += "\(name)_sum\(labels) \(number(counts.sum))\n"
    text += "\(name)_count\(labels) \(total)\n"
    return text
  }

  private static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  /// Replaces all characters but ASCII letters, digits, underscores and colons by underscores.
  private static func name(_ label: String) -> String {
    String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" })
  }

  private static func labels(_ key: Key) -> String {
    guard !key.dimensions.isEmpty else { return "" }
    let written = key.dimensions.map { "\(name($0[0]))=\"\(escaped($0[1]))\"" }
    return "{" + written.joined(separator: ",") + "}"
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
