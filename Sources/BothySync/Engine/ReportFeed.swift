import Synchronization

/// Hands the reports of syncs to all who read them, in their order, also to one that lags behind.
final class ReportFeed: Sendable {
  private struct Weak: Sendable { weak var reader: ReportReader? }

  private struct State {
    var readers: [Weak] = []
    /// For the first callbacks: it has read since the store was opened, whether they are there yet or not.
    var unclaimed: ReportReader? = ReportReader()
    /// For callbacks that were there and are not, by their names.
    var waiting: [String: ReportReader] = [:]
  }

  private let state = Mutex(State())
  /// The number of the journal's newest entry when the store was opened.
  let decided: Int64

  init(decided: Int64) { self.decided = decided }

  /// A reader of the reports from now on. The feed keeps it as long as somebody else does.
  func reader() -> ReportReader {
    let reader = ReportReader()
    state.withLock { $0.readers.append(Weak(reader: reader)) }
    return reader
  }

  /// - Parameter decided: the number of the journal's newest entry after what it tells of; nil where it tells of nothing.
  func send(_ report: SyncReport, decided: Int64?) {
    let readers = state.withLock { state in
      state.readers.removeAll { $0.reader == nil }
      return state.readers.compactMap(\.reader) + state.waiting.values + [state.unclaimed].compactMap { $0 }
    }
    for reader in readers { reader.send(ToldReport(report: report, decided: decided)) }
  }

  /// The reader that has waited for the callbacks of a name, or for the first; a new one for others.
  func takeWaiting(_ name: String) -> (reader: ReportReader, hasWaited: Bool) {
    let waiting = state.withLock { state -> ReportReader? in
      guard let waiting = state.waiting.removeValue(forKey: name) ?? state.unclaimed else { return nil }
      if waiting === state.unclaimed { state.unclaimed = nil }
      state.readers.append(Weak(reader: waiting))
      return waiting
    }
    return (waiting ?? reader(), waiting != nil)
  }

  /// Has a reader wait for the next callbacks of its name, unless another does.
  func giveBack(_ reader: ReportReader, _ name: String) {
    state.withLock { state in
      guard state.waiting[name] == nil else { return }
      state.waiting[name] = reader
      state.readers.removeAll { $0.reader === reader }
    }
  }
}

/// A report, and the number of the journal's newest entry after what it tells of.
struct ToldReport: Sendable {
  var report: SyncReport
  var decided: Int64?
}

/// What one reader has not taken yet: at most `limit` reports about `weightLimit` records, the newest in any case. How
/// many older ones went is told with the next.
final class ReportReader: Sendable {
  static let limit = 100
  static let weightLimit = 10_000

  private struct State {
    var reports: [ToldReport] = []
    var weight = 0
    var missed = 0
  }

  private let state = Mutex(State())
  private let bell = Signal()

  func send(_ told: ToldReport) {
    state.withLock { state in
      state.reports.append(told)
      state.weight += told.report.weight
      while state.reports.count > 1,
        state.reports.count > Self.limit || state.weight > Self.weightLimit
      {
        state.weight -= state.reports.removeFirst().report.weight
        state.missed += 1
      }
    }
    bell.ring()
  }

  /// The oldest report that was not taken. Nil when the task is cancelled; then nothing is taken.
  func next() async -> ToldReport? {
    while !Task.isCancelled {
      if let told = take() { return told }
      guard await bell.wait() else { return nil }
    }
    return nil
  }

  private func take() -> ToldReport? {
    state.withLock { state in
      guard !state.reports.isEmpty else { return nil }
      var told = state.reports.removeFirst()
      state.weight -= told.report.weight
      told.report.missed = state.missed
      state.missed = 0
      return told
    }
  }
}

extension SyncReport {
  /// Whether the journal has anything of what it tells.
  var hasDecisions: Bool { pushed > 0 || !(synced.isEmpty && failures.isEmpty && overwritten.isEmpty) }

  /// How many records it speaks of.
  fileprivate var weight: Int {
    synced.count + failures.count + overwritten.count + blocked.count + leaving.count
  }
}
