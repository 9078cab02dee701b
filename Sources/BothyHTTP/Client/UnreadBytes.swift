import Synchronization

/// The number of bytes of a response that came and that its reader hasn't taken yet.
///
/// Beyond a limit the connection is suspended, so that the server waits and a slow reader fills no memory. It
/// resumes when the reader is down to half of the limit.
package final class UnreadBytes: Sendable {
  private struct State {
    var count = 0
    var isSuspended = false
  }

  private let state = Mutex(State())
  private let limit: Int
  private let suspend: @Sendable () -> Void
  private let resume: @Sendable () -> Void

  /// Begins with no bytes and a running connection.
  ///
  /// - Parameters:
  ///   - limit: the number of unread bytes beyond which the connection is suspended. 1 MiB by default.
  ///   - suspend: suspends the connection. It is called under a lock, as `resume` is, so that the two keep their order.
  ///   - resume: resumes the connection.
  package init(
    limit: Int = 1 << 20, suspend: @escaping @Sendable () -> Void, resume: @escaping @Sendable () -> Void
  ) {
    self.limit = limit
    self.suspend = suspend
    self.resume = resume
  }

  /// Adds bytes that came.
  package func add(_ count: Int) {
    state.withLock { state in
      state.count += count
      guard !state.isSuspended, state.count > limit else { return }
      state.isSuspended = true
      suspend()
    }
  }

  /// Subtracts bytes that the reader took.
  package func take(_ count: Int) {
    state.withLock { state in
      state.count -= count
      guard state.isSuspended, state.count <= limit / 2 else { return }
      state.isSuspended = false
      resume()
    }
  }
}
