import BothySyncService
import Logging
import Synchronization

/// A rule for writes whose decisions are counted and timed, and whose outages are logged now and then.
final class InstrumentedRule: WriteRule {
  private let base: any WriteRule
  private let metrics: ServerMetrics
  private let logger: Logger
  private let now: @Sendable () -> Int64
  private let log = Mutex(OutageLog())

  init(
    _ base: any WriteRule, metrics: ServerMetrics, logger: Logger, now: @escaping @Sendable () -> Int64
  ) {
    self.base = base
    self.metrics = metrics
    self.logger = logger
    self.now = now
  }

  func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
    let begin = ContinuousClock.now
    let decisions = try await base.checkedDecisions(on: proposal)
    metrics.decisions(decisions, duration: ContinuousClock.now - begin)
    if let outage = decisions.lazy.compactMap(\.outage).first {
      if let count = log.withLock({ $0.failed(at: now()) }) {
        logger.warning(
          "writes were not decided",
          metadata: ["reason": "\(LogText.safe(outage))", "requests": "\(count)"])
      }
    } else if log.withLock({ $0.decided() }) {
      logger.notice("writes are decided again")
    }
    return decisions
  }
}
