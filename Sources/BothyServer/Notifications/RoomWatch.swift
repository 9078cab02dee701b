import BothyStore
import Synchronization

/// Tracks from writes if the database's disk has room.
///
/// A write that fails because the disk is full counts until a write succeeds, but for at most half a minute, and not
/// after the clock was set back. A server that reports a full disk receives no writes, so without this limit it never
/// recovers.
final class RoomWatch: Sendable {
  static let validity: Int64 = 30_000

  private let now: @Sendable () -> Int64
  private let failure = Mutex<(error: BothyError, at: Int64)?>(nil)

  init(now: @escaping @Sendable () -> Int64) { self.now = now }

  func failed(_ error: BothyError) { failure.withLock { $0 = (error, now()) } }

  func wrote() { failure.withLock { $0 = nil } }

  /// Throws the error of the last failed write.
  func check() throws {
    guard let failure = failure.withLock({ $0 }) else { return }
    if (0..<Self.validity).contains(now() - failure.at) { throw failure.error }
  }
}
