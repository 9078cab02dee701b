import BothyStore
package import BothySyncService
package import Logging
import Synchronization

/// Delivers the changes of all spaces to one webhook, in the order of each space.
///
/// Its memory is bounded: the names of `capacity` spaces, and one batch for each of the `width` deliveries under way. A
/// batch is read for each attempt. Everything else is in the storage.
package final class WebhookSender: Sendable {
  /// The number of spaces of one page of a search.
  private static let searchPage = 500

  private let hook: Webhook
  private let settings: WebhookSettings
  private let service: SyncService
  private let storage: any FeedStorage
  private let metrics: WebhookMetrics
  private let logger: Logger
  private let now: @Sendable () -> Int64
  private let backoff: Backoff
  private let wake = Signal()
  private let state: Mutex<State>

  private struct State: Sendable {
    var schedule: WebhookSchedule
    var search: WebhookSearch
    var first: FirstDeliveries
  }

  package init(
    _ hook: Webhook, _ settings: WebhookSettings, _ service: SyncService, _ storage: any FeedStorage,
    metrics: MetricsRegistry, logger: Logger, now: @escaping @Sendable () -> Int64
  ) {
    (self.hook, self.settings, self.service, self.storage) = (hook, settings, service, storage)
    (self.metrics, self.logger, self.now) = (WebhookMetrics(registry: metrics, name: hook.name), logger, now)
    backoff = Backoff(random: settings.random)
    let schedule = WebhookSchedule(width: settings.width, capacity: settings.capacity, backoff: backoff)
    let interval = Int64(settings.lookInterval / .milliseconds(1))
    state = Mutex(
      State(
        schedule: schedule, search: WebhookSearch(interval: interval, at: now()),
        first: FirstDeliveries(capacity: settings.capacity)))
  }

  /// Notes that a space has news. Costs a lock, and never waits.
  package func news(space: String) {
    guard hook.receives(space: space) else { return }
    state.withLock { $0.schedule.news(space) }
    wake.ring()
  }

  /// Delivers until the task is cancelled.
  func run() async {
    await withDiscardingTaskGroup { group in
      while !Task.isCancelled {
        while let space = next() { group.addTask { await self.attempt(space) } }
        if await search() { continue }
        await pause()
      }
    }
  }

  /// Does one step: an attempt in one space, or one page of a search. Returns false if there is nothing to do now. For
  /// tests, which decide what happens when.
  package func step() async -> Bool {
    if let space = next() {
      await attempt(space)
      return true
    }
    return await search()
  }

  /// The next time at which there is something to do without news, in milliseconds since 1970.
  package var moment: Int64? {
    state.withLock { state in [state.schedule.moment, state.search.moment].compactMap { $0 }.min() }
  }

  /// True after 410.
  package var isDisabled: Bool { state.withLock { $0.schedule.isDisabled } }

  private func next() -> String? { state.withLock { $0.schedule.next(at: now()) } }

  private func pause() async {
    let wait = max(1, min(60_000, (moment ?? .max).subtractingClamped(now())))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [wake] in _ = await wake.wait() }
      group.addTask { try? await Task.sleep(for: .milliseconds(wait)) }  // cancelled after a wake
      await group.next()
      group.cancelAll()
    }
  }

  /// Reads one page of a search. Returns false if none is due.
  private func search() async -> Bool {
    let place = state.withLock { $0.search.next(&$0.schedule, at: now()) }
    guard let place else { return false }
    do {
      let found = try await storage.states(of: hook.name, after: place, limit: Self.searchPage)
      state.withLock { state in
        var last = place
        for space in found {
          if state.schedule.isFull { return state.search.reached(last, at: now()) }
          last = space.head.space
          if space.isBehind, hook.receives(space: last) { state.schedule.news(last) }
        }
        state.search.reached(found.count < Self.searchPage ? nil : last, at: now())
      }
    } catch {
      state.withLock { $0.search.reached(nil, at: now()) }
      if !(error is CancellationError) { log(.warning, "spaces could not be searched for changes", error) }
    }
    return true
  }

  private func attempt(_ space: String) async {
    var end: WebhookSchedule.End
    do { end = try await deliver(space) } catch is CancellationError {
      end = .done(isSuccess: false)
    } catch {
      end = .waits(until: now() + backoff.milliseconds(attempt: 3))
      log(.warning, "a webhook's space could not be read or noted", error, space: space)
    }
    let (failing, isIdle) = state.withLock { state in
      state.schedule.ended(space, end, at: now())
      return (state.schedule.failing, state.schedule.isIdle)
    }
    metrics.spaces(failing: failing, isIdle: isIdle)
    wake.ring()
  }

  /// Delivers the next batch of a space, if it has one.
  private func deliver(_ space: String) async throws -> WebhookSchedule.End {
    guard let found = try await storage.state(of: hook.name, in: space), found.isBehind else {
      return .done(isSuccess: false)
    }
    guard let progress = try await hold(found) else {
      let time = now()
      return .waits(until: found.isHeld(at: time) ? found.heldUntil : time + settings.lease)
    }
    let began = state.withLock { $0.first.end(of: found.head, after: progress.position) }
    let page = try await service.delivery(
      space: space, after: progress.position, limit: settings.changes, bytes: settings.bytes, began: began)
    let delivery = WebhookDelivery(settings.keys.present(hook), space: space, page)
    var done = progress
    done.position = FeedPosition(epoch: page.epoch, position: page.upTo)
    if !delivery.isEmpty {
      let (verdict, reason) = try await send(delivery)
      switch verdict {
      case .delivered: break
      case .failed(let wait): return try await failed(delivery, progress, wait, reason)
      case .gone: return try await gone(space, progress)
      }
      if progress.failures > 0 { log(.notice, "a webhook's receiver works again", space: space) }
      (done.failures, done.deliveredAt) = (0, now())
    }
    let end = page.more || settings.isAlone ? now() + settings.lease : 0
    let isNoted = try await storage.note(
      done, of: hook.name, in: space, by: settings.holder, until: end)
    // Another process has it, or an operator has placed the webhook elsewhere: the next attempt finds out.
    guard isNoted, !page.more else { return .more(isSuccess: !delivery.isEmpty) }
    state.withLock { $0.first.finished(space) }
    return .done(isSuccess: !delivery.isEmpty)
  }

  /// Returns the progress under a claim that lasts for a delivery, or `nil` if another process has one.
  private func hold(_ found: WebhookState) async throws -> WebhookProgress? {
    let now = now()
    let (isOwn, isHeld) = (found.holder == settings.holder, found.isHeld(at: now))
    if isOwn, isHeld, found.heldUntil - now >= settings.margin { return found.progress }
    guard isOwn || !isHeld else { return nil }
    return try await storage.claim(
      hook.name, in: found.head.space, for: settings.holder, until: now + settings.lease, at: now)
  }

  /// Sends a delivery once. Returns what came of it, in words for the log too.
  private func send(_ delivery: WebhookDelivery) async throws -> (WebhookVerdict, reason: String) {
    let begin = ContinuousClock.now
    let verdict: WebhookVerdict
    let reason: String
    do {
      let response = try await response(to: delivery.request(at: now(), timeout: settings.timeout))
      verdict = WebhookVerdict(response)
      reason = "status \(response.status)"
    } catch {
      if Task.isCancelled { throw CancellationError() }
      verdict = .failed(wait: nil)
      reason = LogText.safe("\(error)")
    }
    metrics.attempt(verdict, changes: delivery.changes.count, duration: ContinuousClock.now - begin)
    return (verdict, reason)
  }

  private struct TimedOut: Error, CustomStringConvertible {
    let description = "The response did not end in time."
  }

  /// Returns the response, or throws after the time limit. A receiver that sends its body slowly is thus given up too.
  private func response(to request: OutboundRequest) async throws -> OutboundResponse {
    try await within(request.timeout, by: settings.clock, orThrow: TimedOut()) { [settings] in
      try await settings.send(request)
    }
  }

  private func failed(
    _ delivery: WebhookDelivery, _ progress: WebhookProgress, _ wait: Duration?, _ reason: String
  ) async throws -> WebhookSchedule.End {
    let time = now()
    var progress = progress
    progress.failures = progress.failures.addingClamped(1)
    let demanded = wait.map { time + Int64($0 / .milliseconds(1)) }
    let until = max(time + backoff.milliseconds(attempt: progress.failures), demanded ?? 0)
    metrics.lag(delivery.oldest.map { max(0, time - $0) })
    // The first failure is logged, then the second, the fourth, and so on.
    if progress.failures & (progress.failures - 1) == 0 {
      logger.warning(
        "a webhook's receiver failed",
        metadata: [
          "webhook": "\(hook.name)", "space": "\(LogText.safe(delivery.space))",
          "failures": "\(progress.failures)", "reason": "\(reason)",
          "waiting since": "\(delivery.oldest.map { Timestamp(milliseconds: $0).rfc3339 } ?? "unknown")",
        ])
    }
    _ = try await storage.note(progress, of: hook.name, in: delivery.space, by: settings.holder, until: until)
    return .failed(until: until, demanded: demanded)
  }

  private func gone(_ space: String, _ progress: WebhookProgress) async throws -> WebhookSchedule.End {
    logger.error(
      "a webhook's receiver wants no more deliveries (410); it gets none until the server starts again",
      metadata: ["webhook": "\(hook.name)"])
    metrics.switchedOff()
    _ = try await storage.note(progress, of: hook.name, in: space, by: settings.holder, until: 0)
    return .gone
  }

  private func log(
    _ level: Logger.Level, _ message: Logger.Message, _ error: (any Error)? = nil, space: String? = nil
  ) {
    var metadata: Logger.Metadata = ["webhook": "\(hook.name)"]
    if let space { metadata["space"] = "\(LogText.safe(space))" }
    if let error { metadata["error"] = "\(LogText.safe("\(error)"))" }
    logger.log(level: level, message, metadata: metadata)
  }
}
