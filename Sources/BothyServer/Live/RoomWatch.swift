import BothyStore
import Synchronization

/// Whether the database's disk has room, as its writes tell.
///
/// A write that fails for want of room counts for half a minute, and until one succeeds: a server that is sent no writes
/// because it says that it is full would else say so for ever.
final class RoomWatch: Sendable {
  static let validity: Int64 = 30_000

  private let now: @Sendable () -> Int64
  private let failure = Mutex<(error: StoreError, at: Int64)?>(nil)

  init(now: @escaping @Sendable () -> Int64) { self.now = now }

  func failed(_ error: StoreError) { failure.withLock { $0 = (error, now()) } }

  func wrote() { failure.withLock { $0 = nil } }

  /// Throws what the last write failed with.
  func check() throws {
    if let failure = failure.withLock({ $0 }), now() - failure.at < Self.validity { throw failure.error }
  }
}
