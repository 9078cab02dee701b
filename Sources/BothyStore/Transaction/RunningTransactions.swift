import Foundation

/// The transactions of one store whose closures a thread is currently in. A read that begins there joins the innermost
/// one, because the connection otherwise ends the process. A write is refused, because it otherwise waits for itself.
final class RunningTransactions: Sendable {
  /// One transaction of one store, and the frame that surrounds it.
  private final class Frame {
    let store: ObjectIdentifier
    let transaction: ReadTransaction
    let outer: UnsafeMutableRawPointer?

    init(_ store: ObjectIdentifier, _ transaction: ReadTransaction, _ outer: UnsafeMutableRawPointer?) {
      self.store = store
      self.transaction = transaction
      self.outer = outer
    }
  }

  /// The thread-local key of the innermost frame. `marking`, which is on that thread's stack, keeps the frame itself.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Runs `body`, the caller's part of `transaction`, on this thread.
  func marking<Result>(_ transaction: ReadTransaction, _ body: () throws -> Result) rethrows -> Result {
    let outer = pthread_getspecific(Self.key)
    let frame = Frame(ObjectIdentifier(self), transaction, outer)
    return try withExtendedLifetime(frame) {
      pthread_setspecific(Self.key, Unmanaged.passUnretained(frame).toOpaque())
      defer { pthread_setspecific(Self.key, outer) }
      return try body()
    }
  }

  /// The innermost transaction of the store whose closure this thread is in, or nil.
  var innermost: ReadTransaction? {
    var next = pthread_getspecific(Self.key)
    while let pointer = next {
      let frame = Unmanaged<Frame>.fromOpaque(pointer).takeUnretainedValue()
      if frame.store == ObjectIdentifier(self) { return frame.transaction }
      next = frame.outer
    }
    return nil
  }
}

extension LocalStore {
  /// The write transaction whose closure the caller is in, or nil.
  package var runningWrite: WriteTransaction? { running.innermost as? WriteTransaction }

  /// Notifies `subscriber` of every commit, of this store and of others on the file, until `unsubscribe`.
  ///
  /// Watches other processes from now on. Once the store is closed, finishes the subscriber and returns nil.
  package func subscribe(_ subscriber: any CommitSubscriber) -> UInt64? {
    let id = notices.add(subscriber)
    notices.request()
    return id
  }

  package func unsubscribe(_ id: UInt64) { notices.remove(id) }

  /// True if `touched` names the record.
  package func touches(_ touched: TouchedRecords, _ id: RecordID) -> Bool {
    catalog.tableIfKnown(id.type).map { touched.touches($0.index, id.id) } ?? false
  }
}
