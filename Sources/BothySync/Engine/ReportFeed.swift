import BothyStore
import Synchronization

/// Delivers the reports of syncs to all readers, in order, also to a reader that lags behind.
package final class ReportFeed: Sendable {
  private struct Weak: Sendable { weak var reader: ReportReader? }

  private struct State {
    var readers: [Weak] = []
    /// The reader for the first callbacks. It reads from the opening of the store, before any callback is set.
    var unclaimed: ReportReader? = ReportReader()
    /// The readers for callbacks that were set and removed, by their names.
    var waiting: [String: ReportReader] = [:]
  }

  private let state = Mutex(State())
  /// The number of the journal's newest entry when the store was opened.
  package let decided: Int64

  init(decided: Int64) { self.decided = decided }

  /// Returns a reader of the reports from now on. The feed holds it weakly.
  func reader() -> ReportReader {
    let reader = ReportReader()
    state.withLock { $0.readers.append(Weak(reader: reader)) }
    return reader
  }

  /// - Parameter decided: the number of the journal's newest entry after the report's own, or `nil` if the report has
  ///   none.
  func send(_ report: SyncReport, decided: Int64?) {
    let readers = state.withLock { state in
      state.readers.removeAll { $0.reader == nil }
      return state.readers.compactMap(\.reader) + state.waiting.values + [state.unclaimed].compactMap { $0 }
    }
    for reader in readers { reader.send(QueuedReport(report: report, decided: decided)) }
  }

  /// Returns the reader that has waited for the callbacks of a name, or for the first callbacks. Otherwise returns a
  /// new one.
  package func takeWaiting(_ name: String) -> (reader: ReportReader, hasWaited: Bool) {
    let waiting = state.withLock { state -> ReportReader? in
      guard let waiting = state.waiting.removeValue(forKey: name) ?? state.unclaimed else { return nil }
      if waiting === state.unclaimed { state.unclaimed = nil }
      state.readers.append(Weak(reader: waiting))
      return waiting
    }
    return (waiting ?? reader(), waiting != nil)
  }

  /// Has a reader wait for the next callbacks of its name, unless another does.
  package func giveBack(_ reader: ReportReader, _ name: String) {
    state.withLock { state in
      guard state.waiting[name] == nil else { return }
      state.waiting[name] = reader
      state.readers.removeAll { $0.reader === reader }
    }
  }
}

/// A report, and the number of the journal's newest entry after the report's own.
package struct QueuedReport: Sendable {
  package var report: SyncReport
  package var decided: Int64?
}

/// The reports that one reader has not taken yet: at most `limit` reports about `weightLimit` records, and always the
/// newest. The next report has the number of older ones that were dropped.
package final class ReportReader: Sendable {
  static let limit = 100
  static let weightLimit = 10_000

  private struct State {
    var reports: [QueuedReport] = []
    var weight = 0
    var missed = 0
  }

  private let state = Mutex(State())
  private let bell = Signal()

  func send(_ reported: QueuedReport) {
    state.withLock { state in
      state.reports.append(reported)
      state.weight += reported.report.weight
      while state.reports.count > 1,
        state.reports.count > Self.limit || state.weight > Self.weightLimit
      {
        state.weight -= state.reports.removeFirst().report.weight
        state.missed += 1
      }
    }
    bell.ring()
  }

  /// Returns the oldest report that was not taken. Returns `nil`, and takes nothing, if the task is cancelled.
  package func next() async -> QueuedReport? {
    while !Task.isCancelled {
      if let reported = take() { return reported }
      guard await bell.wait() else { return nil }
    }
    return nil
  }

  private func take() -> QueuedReport? {
    state.withLock { state in
      guard !state.reports.isEmpty else { return nil }
      var reported = state.reports.removeFirst()
      state.weight -= reported.report.weight
      reported.report.missed = state.missed
      state.missed = 0
      return reported
    }
  }
}

extension SyncReport {
  /// True if the journal may have entries for the report.
  package var hasDecisions: Bool {
    pushed > 0 || !(synced.isEmpty && rejected.isEmpty && overwritten.isEmpty)
  }

  /// The number of records in the report.
  fileprivate var weight: Int {
    synced.count + rejected.count + overwritten.count + blocked.count + leaving.count
  }
}

extension SyncedStore {
  /// The reports of this store's syncs.
  package var reportFeed: ReportFeed { engine.reports }
}
