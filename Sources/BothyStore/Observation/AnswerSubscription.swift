import Synchronization

/// The subscription of one iterator: a flag that its value may be stale, and the consumer that waits for the next one.
///
/// A value is read only while a consumer waits, so a slow consumer gets the newest value and never a queue of old ones.
final class AnswerSubscription<Value: Sendable>: CommitSubscriber {
  private struct State {
    var isDirty = true
    var isFinished = false
    var failure: (any Error)?
    var waiter: CheckedContinuation<Value?, any Error>?
  }

  private enum Outcome {
    case ended((any Error)?)
    case waiting(mustAsk: Bool, replaced: CheckedContinuation<Value?, any Error>?)
  }

  private let region: ObservationRegion
  private let catalog: Catalog
  private let read: @Sendable (ReadTransaction) throws -> Value?
  private let state = Mutex(State())

  /// Creates a subscription. `read` returns nil if the value equals the last one that it returned.
  init(
    _ region: ObservationRegion, _ catalog: Catalog,
    read: @escaping @Sendable (ReadTransaction) throws -> Value?
  ) {
    self.region = region
    self.catalog = catalog
    self.read = read
  }

  /// Returns the next value that differs, or nil at the end. Cancelling the task ends the sequence at once.
  func next(asking notices: CommitNotices, isolation: isolated (any Actor)?) async throws -> Value? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
        wait(continuation, asking: notices)
      }
    } onCancel: {
      finish()
    }
  }

  private func wait(_ continuation: CheckedContinuation<Value?, any Error>, asking notices: CommitNotices) {
    let outcome: Outcome = state.withLock { state in
      if state.isFinished {
        defer { state.failure = nil }
        return .ended(state.failure)
      }
      defer { state.waiter = continuation }
      return .waiting(mustAsk: state.isDirty, replaced: state.waiter)
    }
    switch outcome {
    case .ended(let failure?): continuation.resume(throwing: failure)
    case .ended: continuation.resume(returning: nil)
    case .waiting(let mustAsk, let replaced):
      replaced?.resume(returning: nil)
      if mustAsk { notices.request() }
    }
  }

  func notice(_ touched: TouchedRecords) {
    if region.isTouched(by: touched, catalog) { state.withLock { $0.isDirty = true } }
  }

  var isDue: Bool { state.withLock { $0.isDirty && $0.waiter != nil } }

  func refresh(_ transaction: ReadTransaction) throws {
    state.withLock { $0.isDirty = false }
    guard let value = try read(transaction) else { return }
    takeWaiter()?.resume(returning: value)
  }

  func fail(_ error: any Error) { end(error) }

  func finish() { end(nil) }

  private func end(_ failure: (any Error)?) {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      if !state.isFinished && state.waiter == nil { state.failure = failure }
      state.isFinished = true
      return state.waiter
    }
    if let failure { waiter?.resume(throwing: failure) } else { waiter?.resume(returning: nil) }
  }

  private func takeWaiter() -> CheckedContinuation<Value?, any Error>? {
    state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }
  }
}

/// Keeps a subscription registered as long as an iterator exists, and the store open with it.
final class SubscriptionLease<Subscription: CommitSubscriber>: Sendable {
  let subscription: Subscription
  let store: LocalStore
  private let id: UInt64?

  init(_ subscription: Subscription, in store: LocalStore) {
    self.subscription = subscription
    self.store = store
    id = store.notices.add(subscription)
  }

  deinit {
    if let id { store.notices.remove(id) }
  }
}
