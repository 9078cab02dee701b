import CPostgres
import Foundation
import Synchronization

/// Cancels the running statement of a connection. Any thread may use it, because the connection's key, libpq's only
/// data here, doesn't change.
final class PostgresCanceller: @unchecked Sendable {
  /// The most cancellations that wait for a server.
  private static let limit = 4
  private static let running = Atomic<Int>(0)

  private let key: OpaquePointer

  init(owning key: OpaquePointer) { self.key = key }

  deinit { PQfreeCancel(key) }

  /// Sends the request on a thread of its own, because libpq waits without a limit. Does nothing while others wait for
  /// a server that doesn't answer. A failure doesn't matter, because the statement ends by its time limit.
  func cancel() {
    let running = Self.running.wrappingAdd(1, ordering: .relaxed).newValue
    guard running <= Self.limit else {
      Self.running.wrappingSubtract(1, ordering: .relaxed)
      return
    }
    Thread.detachNewThread { [self] in
      var message = [CChar](repeating: 0, count: 256)
      _ = PQcancel(key, &message, Int32(message.count))
      Self.running.wrappingSubtract(1, ordering: .relaxed)
    }
  }
}
