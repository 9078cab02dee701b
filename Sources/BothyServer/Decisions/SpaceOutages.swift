import Logging
import Synchronization

/// Counts what a call-out about spaces found, and logs its outages now and then.
final class SpaceOutages: Sendable {
  private let metrics: ServerMetrics
  private let logger: Logger
  private let now: @Sendable () -> Int64
  private let log = Mutex(OutageLog())

  init(metrics: ServerMetrics, logger: Logger, now: @escaping @Sendable () -> Int64) {
    self.metrics = metrics
    self.logger = logger
    self.now = now
  }

  @Sendable func note(_ event: SpaceCallout.Event) {
    metrics.spaces(event)
    guard case .asked(_, let outage) = event else { return }
    if let outage {
      if let count = log.withLock({ $0.failed(at: now()) }) {
        logger.warning(
          "the back end did not say which spaces are open",
          metadata: ["reason": "\(LogText.safe(outage.description))", "questions": "\(count)"])
      }
    } else if log.withLock({ $0.decided() }) {
      logger.notice("the back end says again which spaces are open")
    }
  }
}
