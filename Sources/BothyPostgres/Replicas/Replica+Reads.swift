import BothyStore
import BothySyncService

/// The reads of a replica.
extension Replica {
  /// A result with the head of the space, both of one state.
  struct View<Result: Sendable>: Sendable {
    var result: Result
    var head: Int64
  }

  func read<Result: Sendable>(
    _ space: String, _ mark: PrimaryMark, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> View<Result> {
    try await readers.run(CallTime(limit: Self.answerTime, isRepeated: false)) { [self] connection in
      guard isUsed else { throw IsLeftAlone() }
      let transaction = try begin(space, mark, on: connection)
      let result = try Self.reading { try body(transaction) }
      try connection.execute("COMMIT")
      return View(result: result, head: transaction.head)
    }
  }

  /// Reads until the end of the watch. The replica's first answer is awaited for `answerTime` only.
  func search<Result: Sendable>(
    _ space: String, _ mark: PrimaryMark, _ watch: SearchWatch,
    _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> View<Result> {
    try await searchPermits.withPermit {
      try await searchers.run(CallTime(limit: Self.answerTime, isRepeated: false)) { [self] connection in
        guard isUsed else { throw IsLeftAlone() }
        var head: Int64 = 0
        let result = try PostgresServerStorage.search(watch, connection) {
          let transaction = try begin(space, mark, on: connection)
          let left = watch.left
          transaction.command("SET LOCAL statement_timeout TO \(max(1, Int64(left / .milliseconds(1))))")
          // The server ends a statement after the limit, so its own answer is awaited.
          connection.grace = left + .seconds(2)
          head = transaction.head
          return transaction
        } body: { snapshot in
          try Self.reading { try body(snapshot) }
        }
        return View(result: result, head: head)
      }
    }
  }

  /// Distinguishes errors of the code that reads from those of the replica.
  private static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let failure as PostgresFailure { throw failure } catch let end
      as CancellationError
    { throw end } catch { throw ReadingFailed() }
  }
}
