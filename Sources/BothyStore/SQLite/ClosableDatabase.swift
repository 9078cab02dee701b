import Dispatch
import Foundation
package import GRDB
import Synchronization

/// A database that may be closed while others use it. Calls that hold a connection finish first, and later ones throw.
///
/// GRDB leaves that to its callers. A read that waits while another thread closes the pool gets a closed reader. SQLite
/// then ends the process when such a reader is asked for its transaction state.
package final class ClosableDatabase: Sendable {
  private let database: any DatabaseWriter
  private let pendingCalls = PendingCalls()
  /// The number of the file, in case another file receives its name. 0 for a database without a file.
  package let fileNumber: UInt64

  package init(_ database: any DatabaseWriter) {
    self.database = database
    fileNumber = Self.fileNumber(at: database.path)
  }

  /// True if the path names another file by now, as after a repair by another process.
  package var isReplaced: Bool { Self.isReplaced(database.path, fileNumber) }

  /// True if a path names another file than the one with a number.
  package static func isReplaced(_ path: String, _ number: UInt64) -> Bool {
    let named = fileNumber(at: path)
    return named != 0 && named != number
  }

  /// Returns the number of the file at a path, or 0 if there is none.
  package static func fileNumber(at path: String) -> UInt64 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// Opens a file as immutable, without its log and locks, or returns `nil`.
  ///
  /// On a full or read-only disk, SQLite can't create the files that it needs beside the database. Returns `nil` if the
  /// file failed with another error, or if it isn't usable.
  ///
  /// - Parameters:
  ///   - error: the error of the file's usual opening.
  ///   - isUsable: returns false for a file that isn't of this version.
  package static func asItLies(
    _ path: String, after error: any Error, label: String, _ isUsable: (Database) throws -> Bool
  ) -> ClosableDatabase? {
    guard isUnwritable(error) else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = label
    let address = address(asItLies: path)
    // If this fails too, the first error is the one to report.
    guard let queue = try? DatabaseQueue(path: address, configuration: configuration),
      (try? queue.read(isUsable)) == true
    else { return nil }
    return ClosableDatabase(queue)
  }

  /// Returns the address of a file that SQLite reads without its log and locks, and without a file beside it.
  package static func address(asItLies path: String) -> String {
    var allowed = CharacterSet.urlPathAllowed
    allowed.remove(charactersIn: "?#%")
    return "file:\(path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path)?immutable=1"
  }

  /// True for the errors that SQLite reports on a full or read-only disk.
  package static func isUnwritable(_ error: any Error) -> Bool {
    let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY]
    return (error as? DatabaseError).map { codes.contains($0.resultCode) } ?? false
  }

  /// True if the file is only read, as it lies.
  package var isReadOnly: Bool { database.configuration.readonly }

  package func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let pass = try pendingCalls.pass()
    return try database.read {
      pass.giveBack()
      return try body($0)
    }
  }

  package func read<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    let pass = try pendingCalls.pass()
    // GRDB's own asynchronous read returns to the caller's executor while it holds a reader. If all threads of that
    // executor wait in synchronous reads for a reader, they deadlock.
    return try await withCheckedThrowingContinuation { continuation in
      database.asyncRead { connection in
        pass.giveBack()
        continuation.resume(with: Swift.Result { try body(connection.get()) })
      }
    }
  }

  /// Runs `body` in a transaction and then `committed`, before the next transaction begins. Runs `undone` instead if the
  /// transaction is rolled back.
  package func write<Result>(
    _ body: (Database) throws -> Result, committed: (Database, Result) throws -> Void = { _, _ in },
    undone: (Database) -> Void = { _ in }
  ) throws -> Result {
    let pass = try pendingCalls.pass()
    return try database.writeWithoutTransaction {
      pass.giveBack()
      return try Self.transact($0, body, committed, undone)
    }
  }

  /// Like `write(_:committed:undone:)`, but without blocking a thread of the caller's executor.
  package func write<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result,
    committed: @escaping @Sendable (Database, Result) throws -> Void = { _, _ in },
    undone: @escaping @Sendable (Database) -> Void = { _ in }
  ) async throws -> Result {
    let pass = try pendingCalls.pass()
    return try await database.writeWithoutTransaction {
      pass.giveBack()
      return try Self.transact($0, body, committed, undone)
    }
  }

  private static func transact<Result>(
    _ connection: Database, _ body: (Database) throws -> Result,
    _ committed: (Database, Result) throws -> Void, _ undone: (Database) -> Void
  ) throws -> Result {
    var result: Result?
    do {
      try connection.inTransaction {
        result = try body(connection)
        return .commit
      }
    } catch {
      undone(connection)
      throw error
    }
    guard let result else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "A transaction was committed without its body")
    }
    try committed(connection, result)
    return result
  }

  package func writeWithoutTransaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
    let pass = try pendingCalls.pass()
    return try database.writeWithoutTransaction {
      pass.giveBack()
      return try body($0)
    }
  }

  package func writeWithoutTransaction<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let pass = try pendingCalls.pass()
    return try await database.writeWithoutTransaction {
      pass.giveBack()
      return try body($0)
    }
  }

  package func vacuum() throws {
    let pass = try pendingCalls.pass()
    defer { pass.giveBack() }
    try database.vacuum()
  }

  /// Waits for the current calls, so it must not be called inside one. Closing twice does nothing. If closing fails,
  /// the database stays open.
  package func close() throws {
    pendingCalls.close()
    // A reader that is closed after the writer can't write the log back, and leaves it beside the file.
    (database as? DatabasePool)?.invalidateReadOnlyConnections()
    do { try database.close() } catch {
      pendingCalls.open()
      throw error
    }
  }

  /// Counts the calls that are about to get a connection. GRDB waits for those that hold one.
  private final class PendingCalls: Sendable {
    private let isClosed = Mutex(false)
    private let guests = DispatchGroup()

    func pass() throws -> Pass {
      try isClosed.withLock { isClosed in
        // The error that GRDB throws if it notices by itself.
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

  /// The permission of one call. Returned once the call holds a connection, at the latest when it is released.
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
