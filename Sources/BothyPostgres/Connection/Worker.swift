import BothyStore
import BothySyncService
import Foundation

/// The settings of every session of a storage.
struct SessionSettings: Sendable {
  var address: String
  let schema: String
  /// The longest time one call may take, with all repetitions, before the database counts as unavailable.
  let patience: Duration
  /// The longest time of one statement, which the server ends; `nil` is without a limit.
  var statementTime: Duration? = .seconds(60)
  /// The kind of server that is looked for among several, in libpq's words.
  var target = "read-write"
  /// Throws for a connection that must not be used.
  var admit: (@Sendable (PostgresConnection) throws -> Void)?
  /// Receives the SQL of each statement, for tests.
  let trace: (@Sendable (String) -> Void)?

  /// Opens a session. A transaction that is idle for ten seconds is ended, so that a stopped process can't keep a space
  /// locked. A wait for a lock ends a little before the patience, so that its reason is known.
  ///
  /// A session that begins with the mark of another one is refused: a pooler lends both the same session of the database
  /// by turns, and neither has its own settings. Prepared statements don't show that, because poolers can keep them. So is
  /// one that has lost its mark by its next statement, as where a pooler takes its sessions in turn.
  func open(by end: ContinuousClock.Instant) throws(PostgresFailure) -> PostgresConnection {
    let connection = try PostgresConnection(to: address, target: target, by: end, trace: trace)
    let statements = (statementTime ?? .zero) / .milliseconds(1)
    let locks = max(100, patience * 0.8 / .milliseconds(1))
    let mark = PostgresStatement.command("SELECT current_setting('bothy.session', true)")
    guard try connection.run(mark).text(0, 0)?.isEmpty ?? true else { throw .sharedSession }
    try connection.execute(
      """
      SET search_path TO \(schema.quotedIdentifier); SET statement_timeout TO \(Int64(statements));
      SET lock_timeout TO \(Int64(locks)); SET idle_in_transaction_session_timeout TO '10s';
      SET bothy.session TO 'taken'
      """)
    guard try connection.run(mark).text(0, 0) == "taken" else { throw .sharedSession }
    return connection
  }
}

/// The time of one call, and if it is repeated.
struct CallTime: Sendable {
  var start = ContinuousClock.now
  /// The time that each answer may take at least, also when the patience is over.
  var grace = Duration.seconds(1)
  /// The time in which all is done, if it is less than the patience.
  var limit: Duration?
  /// True if the call is repeated until its time is over.
  var isRepeated = true

  /// The time of an operator's call, whose statements may be long.
  static var upkeep: CallTime { CallTime(grace: .seconds(65)) }
}

/// One thread's connection, made on demand and remade when it is lost.
final class Worker {
  private let settings: SessionSettings
  private var connection: PostgresConnection?
  /// The failure of the last call, if the database didn't answer it.
  private var lastLoss: PostgresFailure?

  init(_ settings: SessionSettings) { self.settings = settings }

  /// Runs `body` until it succeeds, fails permanently, or the time is over. Uses a new connection if the old one is
  /// lost. `body` must restart each time, and leave no effect when it throws.
  ///
  /// Throws `StorageUnavailable` if the time is over, `BothyError` if PostgreSQL refuses a statement, and errors of
  /// `body`.
  func attempt<Result>(
    _ time: CallTime = CallTime(), _ body: (PostgresConnection) throws -> Result
  ) throws -> Result {
    let end = time.start + min(settings.patience, time.limit ?? settings.patience)
    // A call that has waited for its thread until now isn't tried with a database that is away.
    if let lastLoss, ContinuousClock.now >= end + time.grace { throw lastLoss.unavailability }
    var failures = 0
    var preparations = 0
    var reported: PostgresFailure?
    while true {
      let isOld = connection != nil
      do {
        let connection = try usable(by: end)
        (connection.end, connection.grace) = (end, time.grace)
        defer { cleanUp(connection) }
        let result = try body(connection)
        lastLoss = nil
        return result
      } catch let failure as PostgresFailure {
        let remedy = failure.remedy
        if remedy == .none { throw failure.storeError }
        if remedy != .again { connection = nil }
        if remedy == .prepareAgain {
          preparations += 1
          guard preparations < 2 else { throw failure.storeError }
          continue
        }
        if failure.code != nil { reported = failure }
        lastLoss = remedy == .reconnect ? failure : nil
        // An idle connection may have been lost long ago, so a new one is tried.
        if !time.isRepeated, remedy == .reconnect, isOld, failure != .silence { continue }
        failures += 1
        let wait = Backoff.database.delay(attempt: failures)
        guard time.isRepeated, ContinuousClock.now + wait < end else {
          throw (failure == .silence ? reported ?? failure : failure).unavailability
        }
        Thread.sleep(forTimeInterval: wait / .seconds(1))
      }
    }
  }

  private func usable(by end: ContinuousClock.Instant) throws -> PostgresConnection {
    if let connection { return connection }
    let new = try settings.open(by: end)
    try settings.admit?(new)
    connection = new
    return new
  }

  /// Rolls back an open transaction, so that none outlives its attempt.
  private func cleanUp(_ connection: PostgresConnection) {
    guard !connection.isLost else { return self.connection = nil }
    guard connection.isInTransaction else { return }
    do { try connection.execute("ROLLBACK") } catch { self.connection = nil }
  }
}

extension Backoff {
  /// The waits before a statement or a connection is tried again. A database that was restarted is back in seconds.
  static let database = Backoff(first: .milliseconds(20), limit: .seconds(1))
}
