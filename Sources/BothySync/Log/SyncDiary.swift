import BothyStore
import Logging
import Synchronization

/// Notes in the file how syncs ended: one read for each, and one small transaction for those of which the rule keeps
/// something. Fails nobody.
final class SyncDiary: Sendable {
  /// Repetitions of a row that are not in the file yet.
  private struct Uncounted {
    var row: SyncRun
    var times: Int
    var last: SyncRun
  }

  private let store: Store
  private let logger: Logger
  private let uncounted = Mutex<Uncounted?>(nil)

  init(_ store: Store, logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// Returns when the sync is noted, if it is. A log that can't be written is told of to the logger alone.
  func note(_ run: SyncRun) async {
    guard SyncLogRule.mayMatter(run) else { return }
    // A task of its own: of a sync whose task was cancelled something is kept too.
    await Task {
      do {
        let last = try await store.read { try SyncLog.last(in: $0) }
        switch SyncLogRule.verdict(on: run, after: last) {
        case .nothing: return
        case .countLater: if let last { countLater(run, last) }
        case .count, .row: try await keep(run)
        }
      } catch { logger.notice("How a sync ended was not noted.", metadata: ["error": "\(error)"]) }
    }.value
  }

  private func countLater(_ run: SyncRun, _ row: SyncRun) {
    uncounted.withLock { uncounted in
      let times = uncounted?.row.id == row.id ? uncounted?.times ?? 0 : 0
      uncounted = Uncounted(row: row, times: times + 1, last: run)
    }
  }

  /// What was not counted yet goes into the same transaction; when that fails it waits for the next.
  private func keep(_ run: SyncRun) async throws {
    let open = uncounted.withLock { uncounted in
      defer { uncounted = nil }
      return uncounted
    }
    do { try await write(run, open) } catch {
      uncounted.withLock { if $0 == nil { $0 = open } }
      throw error
    }
  }

  private func write(_ run: SyncRun, _ open: Uncounted?) async throws {
    try await store.write(origin: .remote) { transaction in
      // Another process may have noted one since.
      let last = try SyncLog.last(in: transaction)
      if let open { try SyncLog.count(open.times, upTo: open.last, in: open.row, transaction) }
      switch SyncLogRule.verdict(on: run, after: last) {
      case .nothing: return
      case .countLater, .count: if let last { try SyncLog.count(1, upTo: run, in: last, transaction) }
      case .row: try SyncLog.append(run, in: transaction)
      }
    }
  }
}
