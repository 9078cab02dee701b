import Foundation

/// The transactions of one store inside whose closures a thread is: a read that is begun there joins the innermost one,
/// where the connection would end the process, and a write is refused, which would wait for itself.
final class RunningTransactions: Sendable {
  /// One transaction of one store, and what the thread was inside before it.
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

  /// Where each thread keeps its innermost frame. The frame itself is kept by `marking`, which is on that thread's stack.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Runs `body`, the part of `transaction` that is the caller's, on this thread.
  func marking<Result>(_ transaction: ReadTransaction, _ body: () throws -> Result) rethrows -> Result {
    let outer = pthread_getspecific(Self.key)
    let frame = Frame(ObjectIdentifier(self), transaction, outer)
    return try withExtendedLifetime(frame) {
      pthread_setspecific(Self.key, Unmanaged.passUnretained(frame).toOpaque())
      defer { pthread_setspecific(Self.key, outer) }
      return try body()
    }
  }

  /// The innermost transaction of the store that this thread is inside of, if there is one.
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

extension Store {
  /// The transaction inside whose closure the caller is, nil outside.
  package var runningWrite: WriteTransaction? { running.innermost as? WriteTransaction }

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
