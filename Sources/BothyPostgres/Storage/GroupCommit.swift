import BothyStore
import BothySyncService

/// The writes to one space that share a transaction, with as many attempts as needed.
struct GroupCommit {
  private(set) var writes: [JoinedWrite]
  /// Returns the writes that came since, for a group of this number.
  private let more: (Int) -> [JoinedWrite]
  private let space: String
  private let writer: String
  private var answers: [@Sendable () -> Void] = []
  /// The space's head after the commit, if it moved.
  private(set) var newHead: Int64?
  /// An attempt whose commit was sent and not answered.
  private var doubtful: Attempt?

  /// True if the transaction may have been committed or not.
  var isInDoubt: Bool { doubtful != nil }

  private struct Attempt {
    var number: Int64
    var answers: [@Sendable () -> Void]
    var newHead: Int64?
  }

  /// - Parameter more: returns further writes for a group of this number. It is called when the group has the lock. While
  ///   the group waits, another process writes to the space, and later writes needn't wait for the next turn.
  init(
    _ writes: [JoinedWrite], space: String, writer: String, joining more: @escaping (Int) -> [JoinedWrite]
  ) {
    self.writes = writes
    self.space = space
    self.writer = writer
    self.more = more
  }

  /// Answers the callers, after the attempt that succeeded.
  func answer() { for answer in answers { answer() } }

  /// Does all writes in one transaction, or finds that an earlier attempt did. Throws `PostgresFailure` if another
  /// attempt is needed, or if the transaction cannot be committed.
  mutating func attempt(_ number: Int64, on connection: PostgresConnection) throws {
    let row = try begin(connection)
    if let doubtful, try isCommitted(doubtful, connection) {
      // A restarted database shows what its synchronous standbys may lack. This commit follows it, and waits for them.
      _ = try connection.run(signature(doubtful.number) + [.command("COMMIT")])
      (answers, newHead) = (doubtful.answers, doubtful.newHead)
      return
    }
    doubtful = nil
    writes += more(writes.count)
    let start = PostgresTransaction(connection, space: space, row: row)
    var attempt = Attempt(number: number, answers: [])
    var last = start
    var hasWritten = false
    for write in writes {
      let part = PostgresTransaction(
        connection, space: space, epoch: start.epoch, head: last.head, floor: start.floor,
        isListed: last.isListed, fieldIndexes: last.fieldIndexes)
      do {
        attempt.answers.append(try work(write, part))
        last = part
        hasWritten = hasWritten || part.hasWritten
      } catch let failure as PostgresFailure where failure.remedy != .none {
        throw failure
      } catch {
        let error: any Error = (error as? PostgresFailure)?.storeError ?? error
        if writes.count == 1, connection.isInTransaction { try connection.execute("ROLLBACK") }
        attempt.answers.append { write.fail(error) }
        if writes.count == 1 { return answers = attempt.answers }
        try part.undo(to: "work")
      }
    }
    if last.head != start.head { attempt.newHead = last.head }
    try commit(attempt, last.takeWaiting() + (hasWritten ? signature(number) : []), connection)
    (answers, newHead) = (attempt.answers, attempt.newHead)
  }

  private func begin(_ connection: PostgresConnection) throws -> PostgresResult {
    let state = PostgresStatement(StorageSQL.lockedState, in: space)
    let found = try connection.run([
      .command(StorageSQL.beginWriting), state, PostgresStatement(StorageSQL.checkTables),
    ])[1]
    if found.count > 0 { return found }
    var insert = PostgresStatement(StorageSQL.newSpace, in: space)
    insert.bind(UUIDv7.make())
    return try connection.run([insert, state])[1]
  }

  /// Returns true if the attempt was committed. The lock is held, so the session of a commit in doubt has ended.
  private func isCommitted(_ attempt: Attempt, _ connection: PostgresConnection) throws -> Bool {
    var look = PostgresStatement(StorageSQL.signature, in: space)
    look.bind(writer)
    let found = try connection.run(look)
    return found.count > 0 && found.int(0, 0) == attempt.number
  }

  /// Does the work of a write. If several share the transaction, it has a savepoint.
  private func work(_ write: JoinedWrite, _ part: PostgresTransaction) throws -> @Sendable () -> Void {
    guard writes.count > 1 else { return try write.work(part) }
    part.command("SAVEPOINT work")
    let answer = try write.work(part)
    _ = try part.read(.command("RELEASE SAVEPOINT work"))
    return answer
  }

  private func signature(_ number: Int64) -> [PostgresStatement] {
    var sign = PostgresStatement(StorageSQL.sign, in: space)
    sign.bind(writer)
    sign.bind(number)
    // The signatures of ended processes are deleted occasionally.
    return number % 1024 == 1 ? [sign, PostgresStatement(StorageSQL.clearSignatures, in: space)] : [sign]
  }

  private mutating func commit(
    _ attempt: Attempt, _ statements: [PostgresStatement], _ connection: PostgresConnection
  ) throws {
    do {
      _ = try connection.run(statements + [.command("COMMIT")])
    } catch let failure where failure.remedy == .reconnect {
      doubtful = attempt
      throw failure
    }
  }
}
