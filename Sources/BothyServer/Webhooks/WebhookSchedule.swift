import BothyStore
import BothySyncService

/// Decides which space of a webhook is delivered next. Pure.
///
/// A space is in one of four states, and a failing receiver slows down the webhook as a whole:
///
/// | from | to | by |
/// |---|---|---|
/// | unknown | due | news, or a search |
/// | unknown | unknown | news if too many wait, so that a search finds the space later |
/// | due | running | `next`, for one delivery of a space at a time |
/// | running | unknown | an attempt after which everything is delivered |
/// | running | due | an attempt after which more follows, or during which news came |
/// | running | waiting | a failure, or the claim of another process |
/// | waiting | due | its time, or another space's success after failures in a row, if the receiver demanded no wait |
/// | each | unknown | 410 |
///
/// From three failures in a row on, the webhook delivers one space at a time, with growing waits between the attempts.
/// After 410 nothing is delivered.
package struct WebhookSchedule: Sendable {
  /// The result of one attempt in a space.
  package enum End: Sendable, Equatable {
    /// Everything is delivered, and this attempt delivered some of it if `isSuccess`.
    case done(isSuccess: Bool)
    /// More follows. This attempt delivered a part if `isSuccess`.
    case more(isSuccess: Bool)
    /// Another process has the space, or the storage failed. The space waits until a time.
    case waits(until: Int64)
    /// The receiver failed. The space waits until a time, which another space's success cuts short. With `demanded`, the
    /// receiver takes nothing of it before that time.
    case failed(until: Int64, demanded: Int64? = nil)
    /// The receiver wants no more deliveries.
    case gone
  }

  private static let patience = 3

  let width: Int
  let capacity: Int
  let backoff: Backoff
  private var due: [String] = []
  private var running: Set<String> = []
  /// The running spaces that have news.
  private var again: Set<String> = []
  /// The space's wait: its end, true after a failure, and the time that the receiver demanded.
  private typealias Pause = (until: Int64, isFailing: Bool, demanded: Int64?)
  private var waiting: [String: Pause] = [:]
  /// True if spaces were left out, so that a search is needed.
  package private(set) var isIncomplete = false
  /// True after 410.
  package private(set) var isDisabled = false
  private var failuresInRow = 0
  /// The time before which a failing webhook attempts nothing.
  private var pausedUntil: Int64?

  package init(width: Int, capacity: Int, backoff: Backoff) {
    self.width = max(1, width)
    self.capacity = max(1, capacity)
    self.backoff = backoff
  }

  /// True if no further space can be noted.
  package var isFull: Bool { due.count + waiting.count >= capacity }
  /// True if nothing waits, runs or is due.
  package var isIdle: Bool { due.isEmpty && running.isEmpty && waiting.isEmpty }
  /// The number of spaces whose last attempt failed.
  package var failing: Int { waiting.values.count { $0.isFailing } }
  private var isStruggling: Bool { failuresInRow >= Self.patience }

  /// Notes that a space may have changes.
  package mutating func news(_ space: String) {
    guard !isDisabled else { return }
    if running.contains(space) {
      again.insert(space)
    } else if waiting[space] == nil, !due.contains(space) {
      if isFull { isIncomplete = true } else { due.append(space) }
    }
  }

  /// Notes that a search begins, which finds the spaces that were left out.
  package mutating func beginSearch() { isIncomplete = false }

  /// Returns the space to deliver now, or `nil`. It counts as running until `ended`.
  package mutating func next(at now: Int64) -> String? {
    guard !isDisabled else { return nil }
    let ready = waiting.filter { Self.isOver($0.value.until, at: now) }.sorted {
      ($0.value.until, $0.key) < ($1.value.until, $1.key)
    }
    for (space, _) in ready {
      waiting[space] = nil
      due.append(space)
    }
    guard running.count < (isStruggling ? 1 : width), !due.isEmpty, Self.isOver(pausedUntil ?? now, at: now)
    else { return nil }
    let space = due.removeFirst()
    running.insert(space)
    return space
  }

  /// True if a wait has ended. One that is longer than any was begun by a clock that was ahead.
  private static func isOver(_ time: Int64, at now: Int64) -> Bool {
    time <= now || time > now.addingClamped(WebhookState.longestClaim)
  }

  /// The next time at which `next` may return a space without news, or `nil`.
  package var moment: Int64? {
    guard !isDisabled, running.count < (isStruggling ? 1 : width) else { return nil }
    let first = due.isEmpty ? waiting.values.map(\.until).min() : .min
    return first.map { max($0, pausedUntil ?? $0) }
  }

  /// Notes the result of an attempt.
  package mutating func ended(_ space: String, _ end: End, at now: Int64) {
    running.remove(space)
    let hasNews = again.remove(space) != nil
    switch end {
    case .done(let isSuccess):
      if isSuccess { recover(at: now) }
      if hasNews { due.append(space) }
    case .more(let isSuccess):
      if isSuccess { recover(at: now) }
      due.append(space)
    case .waits(let until): waiting[space] = (max(until, now + 1), false, nil)
    case .failed(let until, let demanded):
      failuresInRow += 1
      waiting[space] = (max(until, demanded ?? 0, now + 1), true, demanded)
      if isStruggling { pausedUntil = now + backoff.milliseconds(attempt: failuresInRow - Self.patience + 1) }
    case .gone:
      isDisabled = true
      due = []
      waiting = [:]
      again = []
    }
  }

  /// Ends the slowing down. Spaces that waited for the receiver are attempted at once, or when it demanded.
  private mutating func recover(at now: Int64) {
    if isStruggling {
      for (space, wait) in waiting.sorted(by: { $0.key < $1.key }) where wait.isFailing {
        if let demanded = wait.demanded, demanded > now {
          waiting[space]?.until = demanded
        } else {
          waiting[space] = nil
          due.append(space)
        }
      }
    }
    failuresInRow = 0
    pausedUntil = nil
  }
}
