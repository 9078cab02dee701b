package import BothySyncService
import Logging

/// The upkeep of one process: takes spaces that are due in small batches, and looks after one after another.
///
/// A space that fails is put off, at first for the interval of upkeeps, then for twice the time, up to a day. It is
/// logged once until it succeeds.
package actor UpkeepRounds {
  private let current: @Sendable () -> SyncService
  private let configuration: ServerConfiguration
  private let metrics: UpkeepMetrics
  private let pace: UpkeepPace
  private let pause: @Sendable (Duration) async throws -> Void
  private let looked: @Sendable (Int64) -> Void
  /// The number of failures since the last success, by space.
  private var failures: [String: Int] = [:]
  /// The last time at which no space was due, so that none has waited longer.
  private var drained: Int64
  /// The time of the next look if the vault's sweep is due, and the number of its failures since the last success.
  private var nextSweep = Int64.min
  private var sweepFailures = 0
  private var isFailing = false

  /// The most spaces that count as due in the metrics, and the most failures that are remembered.
  private static let countLimit = 100_000

  /// The rules at present.
  private var service: SyncService { current() }

  /// - Parameters:
  ///   - service: returns the rules at present, whose schema may change between two calls.
  ///   - looked: receives the time of each look at the due spaces that succeeded.
  ///   - pause: waits between two batches, so that the rate is bounded.
  package init(
    _ service: @escaping @Sendable () -> SyncService, _ configuration: ServerConfiguration,
    metrics: MetricsRegistry, pace: UpkeepPace,
    looked: @escaping @Sendable (Int64) -> Void = { _ in },
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    current = service
    self.configuration = configuration
    self.metrics = UpkeepMetrics(registry: metrics)
    self.pace = pace
    self.pause = pause
    self.looked = looked
    drained = configuration.now()
  }

  /// Looks after all spaces that are due, and after the vault. Throws `CancellationError` alone. Other failures are
  /// logged, the first in a row as an error.
  package func work() async throws {
    do {
      _ = try await round()
      isFailing = false
    } catch let error as CancellationError {
      throw error
    } catch {
      configuration.logger.log(
        level: isFailing ? .debug : .error, "the spaces could not be looked after",
        metadata: ["error": "\(LogText.safe("\(error)"))"])
      isFailing = true
    }
    await recoverSecrets()
    await sweep()
  }

  /// Settles what ended processes have left of requests with values of sensitive fields.
  private func recoverSecrets() async {
    do {
      try await service.recoverSecrets()
    } catch {
      configuration.logger.error(
        "requests with sensitive fields could not be settled",
        metadata: ["error": "\(LogText.safe("\(error)"))"])
    }
  }

  /// Looks after the spaces that are due, until none is left. Returns their number, with those that failed. Throws if
  /// the storage is unavailable or the task is cancelled; leases that are left end by themselves.
  package func round() async throws -> Int {
    guard let storage = service.storage.upkeep else { return 0 }
    var count = 0
    var left: Int?
    while true {
      try Task.checkCancellation()
      let start = ContinuousClock.now
      let now = configuration.now()
      let taken = try await storage.takeDue(at: now, limit: pace.batch, lease: pace.lease)
      looked(now)
      let isLast = taken.count < pace.batch
      // Only a list with more than a batch is counted, and only once a round.
      if left == nil, !isLast {
        left = try await storage.dueCount(at: now, limit: Self.countLimit) + taken.count
      }
      let oldest = taken.map(\.since).min()
      metrics.set(
        due: max(taken.count, left ?? 0), lag: oldest.map { max(0, now - max($0, drained)) } ?? 0)
      var isPartial = false
      for due in taken {
        try Task.checkCancellation()
        if try await lookAfter(due, in: storage) { isPartial = true }
      }
      count += taken.count
      left = left.map { max(0, $0 - taken.count) }
      if isLast, !isPartial {
        drained = now
        metrics.set(due: 0, lag: 0)
        return count
      }
      let least = Duration.seconds(1) * Double(taken.count) / Double(max(1, pace.perSecond))
      try await pause(max(.zero, least - (ContinuousClock.now - start)))
    }
  }

  /// Returns true if the space has more to do and is still due.
  private func lookAfter(_ due: DueSpace, in storage: any ServerMaintenance) async throws -> Bool {
    do {
      guard let report = try await service.upkeep(due, configuration.upkeep) else { return false }
      failures[due.space] = nil
      metrics.lookedAfter(succeeded: true)
      guard report.floor != nil || report.blobs > 0 || report.outcomes > 0 else { return false }
      configuration.logger.log(
        level: report.isPartial ? .debug : .info, "space looked after",
        metadata: [
          "space": "\(LogText.safe(due.space))", "blobs": "\(report.blobs)",
          "outcomes": "\(report.outcomes)", "floor": "\(report.floor.map(String.init) ?? "")",
        ])
      return report.isPartial
    } catch let error as CancellationError {
      throw error
    } catch let error as StorageUnavailable where ![.busy, .blobs].contains(error.reason) {
      // The other spaces fail in the same way.
      throw error
    } catch {
      metrics.lookedAfter(succeeded: false)
      await putOff(due, error, in: storage)
      return false
    }
  }

  private func putOff(_ due: DueSpace, _ error: any Error, in storage: any ServerMaintenance) async {
    if failures.count >= Self.countLimit { failures.removeAll() }
    let count = failures[due.space, default: 0]
    failures[due.space] = count + 1
    configuration.logger.log(
      level: count == 0 ? .error : .debug, "a space could not be looked after",
      metadata: [
        "space": "\(LogText.safe(due.space))", "failures": "\(count + 1)",
        "error": "\(LogText.safe("\(error)"))",
      ])
    let wait = min(
      min(configuration.upkeep.interval, RetentionPolicy.day) << Int64(min(count, 16)), RetentionPolicy.day)
    do {
      try await storage.putOff(due, until: configuration.now() + wait)
    } catch {
      configuration.logger.debug(
        "a space is due again at the end of its lease", metadata: ["error": "\(LogText.safe("\(error)"))"])
    }
  }

  /// Sweeps the vault if its daily sweep is due, which is looked at once an hour. A sweep that fails is due again, for
  /// this process after an hour, then after twice the time, up to a day. It is logged once until it succeeds.
  private func sweep() async {
    let now = configuration.now()
    // A time beyond the longest wait is that of a clock that was ahead.
    guard let blobs = configuration.blobs, now >= nextSweep || nextSweep - now > RetentionPolicy.day else {
      return
    }
    let hour = RetentionPolicy.hour
    nextSweep = now + hour
    let age = Int64(configuration.limits.unusedBlobAge / .milliseconds(1))
    do {
      guard try await blobs.takeSweep(at: now, every: RetentionPolicy.day, lease: hour) else { return }
      let removed = try await blobs.sweep(before: now - age)
      try await blobs.noteSweep(at: now)
      sweepFailures = 0
      if removed > 0 { configuration.logger.info("unused blobs removed", metadata: ["count": "\(removed)"]) }
    } catch is CancellationError {
      // The sweep is due again at the end of its lease.
    } catch {
      nextSweep = now + min(hour << Int64(min(sweepFailures, 16)), RetentionPolicy.day)
      configuration.logger.log(
        level: sweepFailures == 0 ? .error : .debug, "unused blobs could not be removed",
        metadata: ["error": "\(LogText.safe("\(error)"))"])
      sweepFailures += 1
    }
  }
}
