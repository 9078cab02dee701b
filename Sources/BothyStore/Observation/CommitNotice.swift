import Synchronization

/// The records that a commit touched.
package struct CommitNotice: Sendable, Hashable {
  /// The touched records of one type.
  package enum Records: Sendable, Hashable {
    /// The records with these ids, in no particular order, possibly with repetitions.
    case some([String])
    /// Any record: too many to list, or another process wrote and did not list them.
    case any
  }

  /// The touched records by the names of their types. A type that was not touched is absent.
  package let records: [String: Records]

  init(_ touched: TouchedRecords, _ catalog: Catalog) {
    var records: [String: Records] = [:]
    for (table, entry) in zip(catalog.tables, touched.entries) {
      switch entry {
      case .none: continue
      case .some(let ids): records[table.schema.name] = .some(ids)
      case .all: records[table.schema.name] = .any
      }
    }
    self.records = records
  }
}

/// The commits as they happen, one notice a transaction. Commits that happen while the consumer is busy are delivered
/// as one notice.
///
/// Reads nothing from the store. Ends when the task is cancelled or the store is closed.
package struct CommitStream: AsyncSequence, Sendable {
  package typealias Element = CommitNotice
  package typealias Failure = Never

  let store: LocalStore
  /// True to deliver also commits that touched only bookkeeping and that others must know of.
  var includesBookkeeping = false

  package struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    private let lease: SubscriptionLease<NoticeSubscription>

    fileprivate init(_ lease: SubscriptionLease<NoticeSubscription>) { self.lease = lease }

    /// Waits for the next commit. Returns nil once the task is cancelled or the store is closed.
    package mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(Never) -> CommitNotice? {
      await lease.subscription.next(isolation: actor).map { CommitNotice($0, lease.store.catalog) }
    }
  }

  /// Returns an iterator that delivers the commits from this call on.
  package func makeAsyncIterator() -> AsyncIterator {
    let lease = SubscriptionLease(NoticeSubscription(includesBookkeeping: includesBookkeeping), in: store)
    store.notices.request()
    return AsyncIterator(lease)
  }
}

/// Collects notices until the consumer takes them.
final class NoticeSubscription: CommitSubscriber {
  private struct State {
    var gathered: TouchedRecords?
    var isFinished = false
    var waiter: CheckedContinuation<TouchedRecords?, Never>?
  }

  private let state = Mutex(State())
  private let includesBookkeeping: Bool

  init(includesBookkeeping: Bool) { self.includesBookkeeping = includesBookkeeping }

  func next(isolation: isolated (any Actor)?) async -> TouchedRecords? {
    await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: isolation) { continuation in
        state.withLock { state in
          state.waiter?.resume(returning: nil)
          state.waiter = continuation
        }
        handOver()
      }
    } onCancel: {
      finish()
    }
  }

  func notice(_ touched: TouchedRecords) {
    guard touched.hasRecords || includesBookkeeping && touched.bookkeeping else { return }
    state.withLock { state in
      if state.gathered == nil { state.gathered = touched } else { state.gathered?.formUnion(touched) }
    }
    handOver()
  }

  private func handOver() {
    state.withLock { state in
      guard let waiter = state.waiter, state.isFinished || state.gathered != nil else { return }
      waiter.resume(returning: state.isFinished ? nil : state.gathered)
      state.waiter = nil
      state.gathered = nil
    }
  }

  var isDue: Bool { false }
  func refresh(_ transaction: ReadTransaction) {}
  func fail(_ error: any Error) { finish() }

  func finish() {
    state.withLock { $0.isFinished = true }
    handOver()
  }
}
