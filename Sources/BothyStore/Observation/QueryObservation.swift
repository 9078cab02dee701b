import Synchronization

/// The answers to one question as time goes by: the present one at once, then one after each commit that
/// changed it.
///
/// Each iterator has its own subscription, which ends with it; there is no task behind it. Answers are read off
/// the writer and only while `next` waits: a slow consumer skips to the newest. Commits of other processes count
/// too (see `StoreOptions.processes`). Cancelling the consuming task ends the sequence at once, closing the store
/// ends it as well, and an error of the read is thrown and ends it. An iterator keeps the store open.
///
/// A commit costs each observation it concerns one read of its answer, on a thread shared by all.
public struct QueryObservation<Value: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Value
  public typealias Failure = any Error

  let store: Store
  let region: ObservationRegion
  /// Makes a reader that returns nil when the answer is the same as the last it returned.
  let makeReader: @Sendable () -> @Sendable (ReadTransaction) throws -> Value?

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let lease: SubscriptionLease<AnswerSubscription<Value>>

    fileprivate init(_ lease: SubscriptionLease<AnswerSubscription<Value>>) { self.lease = lease }

    /// Waits for the next answer; nil once the task is cancelled or the store is closed.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(any Error) -> Value? {
      try await lease.subscription.next(asking: lease.store.notices, isolation: actor)
    }
  }

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      SubscriptionLease(AnswerSubscription(region, store.catalog, read: makeReader()), in: store))
  }
}

extension QueryObservation {
  /// Answers are the same when their fingerprints are.
  init(
    _ store: Store, _ region: ObservationRegion,
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

  /// Answers are the same when they are equal.
  init(
    _ store: Store, _ region: ObservationRegion,
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

/// The last answer, or its fingerprint; nothing before the first.
private final class LastAnswer<Value: Equatable & Sendable>: Sendable {
  private let last = Mutex<[Value]>([])

  /// Whether `value` differs from the last one; it is the last one from now on.
  func replace(by value: Value) -> Bool {
    last.withLock { last in
      if last.first == value { return false }
      last = [value]
      return true
    }
  }
}
