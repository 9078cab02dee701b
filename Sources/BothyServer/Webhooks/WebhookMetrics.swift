import CoreMetrics

/// The metrics of one webhook, with its name. `ServerMetric.webhooks` lists them.
struct WebhookMetrics: Sendable {
  let registry: MetricsRegistry
  let name: String

  /// Counts and times an attempt, and counts the changes of a delivery.
  func attempt(_ verdict: WebhookVerdict, changes: Int, duration: Duration) {
    let result =
      switch verdict {
      case .delivered: "delivered"
      case .failed: "failed"
      case .gone: "gone"
      }
    registry.makeTimer(
      label: "bothy_webhook_delivery_seconds", dimensions: [("webhook", name), ("result", result)]
    )
    .recordNanoseconds(Int64(duration / .nanoseconds(1)))
    guard verdict == .delivered else { return }
    registry.makeCounter(label: "bothy_webhook_changes_total", dimensions: [("webhook", name)])
      .increment(by: Int64(changes))
  }

  /// Sets the number of spaces whose last delivery failed. Without work the lag is 0.
  func spaces(failing: Int, isIdle: Bool) {
    registry.makeMeter(label: "bothy_webhook_failing_spaces", dimensions: [("webhook", name)])
      .set(Int64(failing))
    if isIdle { lag(0) }
  }

  /// Sets the age of the oldest change of a failed delivery, in milliseconds.
  func lag(_ lag: Int64?) {
    guard let lag else { return }
    registry.makeMeter(label: "bothy_webhook_lag_seconds", dimensions: [("webhook", name)])
      .set(Double(lag) / 1000)
  }

  /// Notes that a webhook is switched off.
  func switchedOff() {
    registry.makeMeter(label: "bothy_webhook_disabled", dimensions: [("webhook", name)]).set(Int64(1))
  }
}
