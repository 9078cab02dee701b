import Foundation
import Synchronization

/// The write that runs now, as far as code needs to know that is called from inside it: a second write on the same
/// thread would wait for the first for ever.
final class RunningWrite: Sendable {
  /// Guard: the transaction is handed to the thread that runs it, and to no other.
  private struct Held: @unchecked Sendable {
    let thread: ObjectIdentifier
    let transaction: WriteTransaction
  }

  private let held = Mutex<Held?>(nil)

  /// Runs `body`, the writing part of `transaction`, on this thread.
  func marking<Result>(_ transaction: WriteTransaction, _ body: () throws -> Result) rethrows -> Result {
    let mark = Held(thread: ObjectIdentifier(Thread.current), transaction: transaction)
    held.withLock { $0 = mark }
    defer { held.withLock { $0 = nil } }
    return try body()
  }

  var isOnThisThread: Bool { onThisThread != nil }

  /// The transaction inside which this thread is, if it is in one.
  var onThisThread: WriteTransaction? {
    let held = held.withLock { $0 }
    return held?.thread == ObjectIdentifier(Thread.current) ? held?.transaction : nil
  }
}

extension Store {
  /// The transaction inside whose closure the caller is, nil outside.
  package var runningWrite: WriteTransaction? { running.onThisThread }

  /// Tells `subscriber` of every commit, of this store and of others on the file, until `unsubscribe`.
  ///
  /// Other processes are watched from now on. Nil, with the subscriber finished, once the store is closed.
  package func subscribe(_ subscriber: any CommitSubscriber) -> UInt64? {
    let id = notices.add(subscriber)
    notices.request()
    return id
  }

  package func unsubscribe(_ id: UInt64) { notices.remove(id) }

  /// Whether `touched` names the record.
  package func touches(_ touched: TouchedRecords, _ id: RecordID) -> Bool {
    catalog.tableIfKnown(id.type).map { touched.touches($0.index, id.id) } ?? false
  }
}
