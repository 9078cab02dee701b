import Synchronization

/// What the requests of one sync pass may do once together: ask for another token. A remote looks it up in the
/// task that calls it.
package final class PassAllowance: Sendable {
  @TaskLocal package static var current: PassAllowance?

  private let mayRefreshToken = Mutex(true)

  package init() {}

  /// True the first time.
  package func takeTokenRefresh() -> Bool {
    mayRefreshToken.withLock { may in
      defer { may = false }
      return may
    }
  }
}
