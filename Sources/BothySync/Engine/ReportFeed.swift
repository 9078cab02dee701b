import Synchronization

/// Hands the reports of syncs to all who read them, in their order, also to one that lags behind.
final class ReportFeed: Sendable {
  private struct Weak: Sendable { weak var reader: ReportReader? }

  private struct State {
    var readers: [Weak] = []
    /// For the callbacks: it has read since the store was opened, whether they are there yet or not.
    var waiting: ReportReader? = ReportReader()
  }

  private let state = Mutex(State())

  /// A reader of the reports from now on. The feed keeps it as long as somebody else does.
  func reader() -> ReportReader {
    let reader = ReportReader()
    state.withLock { $0.readers.append(Weak(reader: reader)) }
    return reader
  }

  func send(_ report: SyncReport) {
    let readers = state.withLock { state in
      state.readers.removeAll { $0.reader == nil }
      return state.readers.compactMap(\.reader) + [state.waiting].compactMap { $0 }
    }
    for reader in readers { reader.send(report) }
  }

  /// The reader that has waited for callbacks; a new one while others have it.
  func takeWaiting() -> ReportReader {
    let waiting = state.withLock { state -> ReportReader? in
      guard let waiting = state.waiting else { return nil }
      state.waiting = nil
      state.readers.append(Weak(reader: waiting))
      return waiting
    }
    return waiting ?? reader()
  }

  /// Has a reader wait for the next callbacks, unless another does.
  func giveBack(_ reader: ReportReader) {
    state.withLock { state in
      guard state.waiting == nil else { return }
      state.waiting = reader
      state.readers.removeAll { $0.reader === reader }
    }
  }
}

/// What one reader has not taken yet: at most `limit` reports about `weightLimit` records, the newest in any case. How
/// many older ones went is told with the next.
final class ReportReader: Sendable {
  static let limit = 100
  static let weightLimit = 10_000

  private struct State {
    var reports: [SyncReport] = []
    var weight = 0
    var missed = 0
  }

  private let state = Mutex(State())
  private let bell = Signal()

  func send(_ report: SyncReport) {
    state.withLock { state in
      state.reports.append(report)
      state.weight += report.weight
      while state.reports.count > 1,
        state.reports.count > Self.limit || state.weight > Self.weightLimit
      {
        state.weight -= state.reports.removeFirst().weight
        state.missed += 1
      }
    }
    bell.ring()
  }

  /// The oldest report that was not taken. Nil when the task is cancelled; then nothing is taken.
  func next() async -> SyncReport? {
    while !Task.isCancelled {
      if let report = take() { return report }
      guard await bell.wait() else { return nil }
    }
    return nil
  }

  private func take() -> SyncReport? {
    state.withLock { state in
      guard !state.reports.isEmpty else { return nil }
      var report = state.reports.removeFirst()
      state.weight -= report.weight
      report.missed = state.missed
      state.missed = 0
      return report
    }
  }
}

extension SyncReport {
  /// How many records it speaks of.
  fileprivate var weight: Int {
    synced.count + failures.count + overwritten.count + blocked.count + leaving.count
  }
}
