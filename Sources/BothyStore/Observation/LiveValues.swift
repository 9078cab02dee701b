import Synchronization

/// The values of one read over time: the present value at once, then one after each commit that changed it.
///
/// ```swift
/// for try await todos in store.values(of: Todo.where { !$0.done }.order(by: \.due)) {
///   show("\(todos.count) to do, first \(todos.first?.title ?? "nothing")")
/// }
/// ```
///
/// Each iterator has its own subscription, which ends with it, and needs no task. Values are read outside the writer
/// and only while `next` waits, so a slow consumer skips to the newest. Commits of other processes count too (see
/// `StoreOptions.processes`). The sequence ends when the consuming task is cancelled, when the store is closed, and
/// with an error of the read, which it throws. An iterator keeps the store open.
///
/// A commit costs each observation it concerns one read of its value, on a thread that all observations share.
public struct LiveValues<Value: Sendable>: AsyncSequence, Sendable {
  let store: LocalStore
  let region: ObservationRegion
  /// Creates a reader that returns nil if the value equals the last one that it returned.
  let makeReader: @Sendable () -> @Sendable (ReadTransaction) throws -> Value?

  /// Creates a subscription of its own. Reads nothing before the first `next`. On a closed store `next` returns nil at
  /// once.
  ///
  /// The first `next` reads the present value. Later ones wait until a commit changed it, and return the newest one. After
  /// nil or an error, all further calls return nil. A second call while the first one waits ends the first with nil.
  ///
  /// `next` throws the error of the read, which ends the sequence: `BothyError` `unknownField` or `invalidQuery` for a
  /// request that doesn't fit the schema.
  public func makeAsyncIterator() -> some AsyncIteratorProtocol<Value, any Error> {
    LiveIterator(SubscriptionLease(AnswerSubscription(region, store.catalog, read: makeReader()), in: store))
  }
}

/// One subscription, with the last value that it delivered. Its release ends it.
private struct LiveIterator<Value: Sendable>: AsyncIteratorProtocol {
  private let lease: SubscriptionLease<AnswerSubscription<Value>>

  init(_ lease: SubscriptionLease<AnswerSubscription<Value>>) { self.lease = lease }

  /// Waits for the next value. Returns nil once the task is cancelled or the store is closed.
  mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(any Error) -> Value? {
    try await lease.subscription.next(asking: lease.store.notices, isolation: actor)
  }
}

extension LiveValues {
  /// Creates an observation that compares values by their fingerprints.
  init(
    _ store: LocalStore, _ region: ObservationRegion,
    fingerprinting fetch: @escaping @Sendable (ReadTransaction, inout RowFingerprint) throws -> Value
  ) {
    self.init(store: store, region: region) {
      let last = LastAnswer<Int>()
      return { transaction in
        var fingerprint = RowFingerprint()
        let value = try fetch(transaction, &fingerprint)
        return last.replace(by: fingerprint.value) ? value : nil
      }
    }
  }

  /// Creates an observation that compares values by `==`.
  init(
    _ store: LocalStore, _ region: ObservationRegion,
    comparing fetch: @escaping @Sendable (ReadTransaction) throws -> Value
  ) where Value: Equatable {
    self.init(store: store, region: region) {
      let last = LastAnswer<Value>()
      return { transaction in
        let value = try fetch(transaction)
        return last.replace(by: value) ? value : nil
      }
    }
  }
}

/// The last value, or its fingerprint. Empty before the first.
private final class LastAnswer<Value: Equatable & Sendable>: Sendable {
  private let last = Mutex<[Value]>([])

  /// Stores `value` as the last one. True if it differs from the one before.
  func replace(by value: Value) -> Bool {
    last.withLock { last in
      if last.first == value { return false }
      last = [value]
      return true
    }
  }
}
