import CoreMetrics

/// The metrics of upkeep: spaces that are due, and results.
struct UpkeepMetrics: Sendable {
  let registry: MetricsRegistry

  /// Sets the number of spaces whose upkeep is due, and the most milliseconds that one of them has waited.
  func set(due: Int, lag: Int64) {
    registry.makeMeter(label: "bothy_upkeep_due_spaces", dimensions: []).set(Int64(due))
    registry.makeMeter(label: "bothy_upkeep_lag_seconds", dimensions: []).set(Double(lag) / 1000)
  }

  /// Counts a space that was looked after, or that failed and was put off.
  func lookedAfter(succeeded: Bool) { count(succeeded ? "done" : "failed", 1) }

  /// Makes all metrics known before the first round.
  func begin() {
    set(due: 0, lag: 0)
    for result in ["done", "failed"] { count(result, 0) }
  }

  private func count(_ result: String, _ number: Int64) {
    registry.makeCounter(label: "bothy_upkeep_spaces_total", dimensions: [("result", result)])
      .increment(by: number)
  }
}
