import Dispatch
package import GRDB
import Synchronization

/// A database that may be closed while others use it: calls that hold a connection end first, later ones throw.
///
/// GRDB leaves that to its callers: a read that waits while another thread closes the pool gets a closed reader, and
/// SQLite ends the process when such a one is asked whether it is in a transaction.
package final class ClosableDatabase: Sendable {
  private let database: any DatabaseWriter
  private let gate = Gate()

  package init(_ database: any DatabaseWriter) { self.database = database }

  package func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let pass = try gate.pass()
    return try database.read {
      pass.giveBack()
      return try body($0)
    }
  }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    let pass = try gate.pass()
    // GRDB's own asynchronous read goes back to the caller's executor with a reader in its hands: where all threads of
    // that wait in synchronous reads for a reader, none would ever go on.
    return try await withCheckedThrowingContinuation { continuation in
      database.asyncRead { connection in
        pass.giveBack()
        continuation.resume(with: Swift.Result { try body(connection.get()) })
      }
    }
  }

  /// Runs `body` in a transaction and then `committed`, before the next transaction begins.
  package func write<Result>(
    _ body: (Database) throws -> Result, committed: (Result) throws -> Void = { _ in }
  ) throws -> Result {
    let pass = try gate.pass()
    return try database.writeWithoutTransaction {
      pass.giveBack()
      return try Self.transact($0, body, committed)
    }
  }

  /// The same without blocking a thread of the caller's executor.
  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result,
    committed: @escaping @Sendable (Result) throws -> Void = { _ in }
  ) async throws -> Result {
    let pass = try gate.pass()
    return try await database.writeWithoutTransaction {
      pass.giveBack()
      return try Self.transact($0, body, committed)
    }
  }

  private static func transact<Result>(
    _ connection: Database, _ body: (Database) throws -> Result, _ committed: (Result) throws -> Void
  ) throws -> Result {
    var result: Result?
    try connection.inTransaction {
      result = try body(connection)
      return .commit
    }
    guard let result else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "A transaction was committed without its body")
    }
    try committed(result)
    return result
  }

  package func writeWithoutTransaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let pass = try gate.pass()
    return try database.writeWithoutTransaction {
      pass.giveBack()
      return try body($0)
    }
  }

  package func writeWithoutTransaction<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let pass = try gate.pass()
    return try await database.writeWithoutTransaction {
      pass.giveBack()
      return try body($0)
    }
  }

  package func vacuum() throws {
    let pass = try gate.pass()
    defer { pass.giveBack() }
    try database.vacuum()
  }

  /// Waits for the calls that are under way, so never to be called inside one. Closing twice does nothing; when it fails,
  /// the database stays open.
  package func close() throws {
    gate.close()
    // A reader that is closed after the writer can't write the log back, and leaves it beside the file.
    (database as? DatabasePool)?.invalidateReadOnlyConnections()
    do { try database.close() } catch {
      gate.open()
      throw error
    }
  }

  /// Counts who is on the way to a connection. Who holds one is waited for by GRDB.
  private final class Gate: Sendable {
    private let isClosed = Mutex(false)
    private let guests = DispatchGroup()

    func pass() throws -> Pass {
      try isClosed.withLock { isClosed in
        // What GRDB throws where it notices by itself.
        guard !isClosed else {
          throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "Connection is closed")
        }
        guests.enter()
      }
      return Pass(guests)
    }

    func close() {
      isClosed.withLock { $0 = true }
      guests.wait()
    }

    func open() { isClosed.withLock { $0 = false } }
  }

  /// Given back when a connection is held, at the latest when nobody knows it any more.
  private final class Pass: Sendable {
    private let guests: DispatchGroup
    private let isOut = Atomic(true)

    init(_ guests: DispatchGroup) { self.guests = guests }
    deinit { giveBack() }

    func giveBack() {
      if isOut.exchange(false, ordering: .relaxed) { guests.leave() }
    }
  }
}
