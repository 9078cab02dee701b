import BothyStore
import BothySyncService
import Foundation
import Synchronization

/// One streaming standby with connections of its own, which answers reads of which it has all that they need.
final class Replica: Sendable {
  /// A replica that must not answer.
  struct Refusal: Error {
    var problem: ReplicaState.Problem
    /// The reason with a remedy, for a log.
    var sentence: String
  }

  /// The standby has a change that the primary's readers may not see yet.
  struct IsAhead: Error {}

  /// An error of the code that reads, which the primary gives too.
  struct ReadingFailed: Error {}

  /// The replica was left alone while the read waited for a connection.
  struct IsLeftAlone: Error {}

  /// The time after which a replica that gives no answer is given up.
  static let answerTime = Duration.seconds(2)

  let number: Int
  let readers: WorkerPool
  let searchers: WorkerPool
  let searchPermits: AsyncSemaphore
  private let watcher: WorkerPool
  private let wait: Duration
  private let state = Mutex(State())

  private struct State {
    var standing = ReplicaStanding()
    var lag = ReplicaLag()
    var reads: [ReplicaState.Ending: Int64] = [:]
  }

  init(_ number: Int, _ settings: SessionSettings, connections: Int, queries: Int, wait: Duration) {
    self.number = number
    self.wait = wait
    readers = WorkerPool(settings, limit: connections)
    searchers = WorkerPool(settings, limit: queries)
    searchPermits = AsyncSemaphore(width: queries, queue: 16 * queries)
    watcher = WorkerPool(settings, limit: 1)
  }

  func close() { for pool in [readers, searchers, watcher] { pool.close() } }

  var isUsed: Bool { problem == nil }
  var problem: ReplicaState.Problem? { state.withLock { $0.standing.problem } }

  /// The state for operators.
  var present: ReplicaState {
    state.withLock { state in
      var found = ReplicaState(problem: state.standing.problem)
      (found.lagBytes, found.lagSeconds) = (state.lag.bytes, state.lag.seconds(at: .now))
      found.reads = state.reads
      return found
    }
  }

  func count(_ ending: ReplicaState.Ending) { state.withLock { $0.reads[ending, default: 0] += 1 } }

  /// Counts a read that failed, and leaves the replica alone unless it ended this read only.
  func failed(_ error: any Error) {
    switch error {
    case is IsAhead: count(.ahead)
    case is ReadingFailed, is IsLeftAlone, is AsyncSemaphore.Crowded: break
    case let refusal as Refusal:
      count(refusal.problem == .behind ? .behind : .failed)
      leave(refusal.problem)
    case let error as StorageUnavailable where error.reason == .busy: count(.failed)
    case is BothyError: count(.failed)
    default:
      count(.failed)
      leave(.away)
    }
  }

  func leave(_ problem: ReplicaState.Problem) { state.withLock { $0.standing.failed(problem, at: .now) } }

  /// Looks if the replica can be used. Throws `Refusal` if it must not be, and otherwise like `Worker.attempt`.
  func look(for mark: PrimaryMark) async throws {
    try await watcher.run(CallTime(limit: Self.answerTime, isRepeated: false)) { [self] connection in
      do {
        _ = try begin("", mark, on: connection)
      } catch is IsAhead {
        // It has the whole log, and a look needs no more.
      }
    }
    state.withLock { $0.standing.succeeded(at: .now) }
  }

  /// Begins a transaction whose state has everything up to the mark, after a short wait for it if need be.
  ///
  /// The replica's progress is read before the snapshot is taken, in the same session. So the snapshot has it.
  func begin(
    _ space: String, _ mark: PrimaryMark, on connection: PostgresConnection
  ) throws -> PostgresTransaction {
    var pause = Duration.milliseconds(1)
    let end = ContinuousClock.now + wait
    while true {
      let found = try connection.run([
        .command(ReplicaSQL.beginLook), PostgresStatement(ReplicaSQL.progress), .command("COMMIT"),
        .command(StorageSQL.beginReading), PostgresStatement(StorageSQL.state, in: space),
        PostgresStatement(ReplicaSQL.isStandby), PostgresStatement(StorageSQL.checkTables),
      ])
      let (progress, log) = (found[1], found[1].int(0, 1))
      // While it is a standby after the snapshot, the snapshot has no change of its own.
      guard progress.bool(0, 0), found[5].bool(0, 0) else { throw Refusal.promoted }
      guard progress.int(0, 2) == mark.timeline else { throw Refusal.diverged }
      state.withLock { $0.lag.noted(primary: mark.log, replica: log, at: .now) }
      let transaction = PostgresTransaction(connection, space: space, row: found[4])
      if log >= mark.log {
        guard transaction.epoch == mark.epoch, transaction.head >= mark.head else { throw IsAhead() }
        return transaction
      }
      try connection.execute("ROLLBACK")
      guard ContinuousClock.now + pause < end else { throw Refusal.behind }
      Thread.sleep(forTimeInterval: pause / .seconds(1))
      pause = min(pause * 2, .milliseconds(16))
    }
  }
}

extension Replica.Refusal {
  static let promoted = Self(
    problem: .promoted,
    sentence: "It takes changes, as standbys don't. Give the address of one that follows.")
  static let diverged = Self(
    problem: .diverged,
    sentence:
      "Its log has another timeline than that of the database. It is used when it follows the database.")
  static let behind = Self(
    problem: .behind, sentence: "It lacks changes. It is used when it has caught up.")
}
