import Synchronization

/// The allowance that all requests of one sync share: to request another token once. A remote looks it up in the task
/// that calls it.
package final class SyncBudget: Sendable {
  @TaskLocal package static var current: SyncBudget?

  private let mayRefreshToken = Mutex(true)

  package init() {}

  /// Returns true the first time.
  package func takeTokenRefresh() -> Bool {
    mayRefreshToken.withLock { may in
      defer { may = false }
      return may
    }
  }
}
