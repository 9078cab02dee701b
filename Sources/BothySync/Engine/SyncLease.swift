package import BothyStore
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One row of the file that says which process is syncing it, for as long as it says: so that an app and its extension
/// do not do the same work twice. Nothing rests on it; a process that holds it and dies has lost it.
///
/// It is taken and given up in transactions that write something anyway.
package final class SyncLease: Sendable {
  let holder: String
  let process: Int32
  /// How long a lease lasts without being renewed, in milliseconds; each exchange renews it.
  static let duration: Int64 = 30_000
  private static let key = "lease"
  private let held = Mutex(false)
  /// How many passes of this process run: the last of them gives the lease up.
  private let passes = Mutex(0)

  package init(process: Int32 = getpid()) {
    holder = UUIDv7.make()
    self.process = process
  }

  /// Whether it was taken and not given up since, as far as this process knows.
  var isHeld: Bool { held.withLock { $0 } }

  func begin() { passes.withLock { $0 += 1 } }

  /// True if no pass is left that needs it.
  func end() -> Bool {
    passes.withLock { count in
      count -= 1
      return count == 0
    }
  }

  /// Whether the pass that asks may give it up: no other one runs.
  var isLast: Bool { isHeld && passes.withLock { $0 <= 1 } }

  /// When the lease of another process ends; nil where none holds it.
  package func end(ofOthersAt now: Int64, in transaction: ReadTransaction) throws -> Int64? {
    guard let other = try Self.current(in: transaction), other.holder != holder, other.end > now,
      other.end <= now.addingClamped(Self.duration), Self.isRunning(other.process)
    else { return nil }
    return other.end
  }

  /// Takes or renews the lease, unless another process holds it. Returns when that one ends.
  @discardableResult
  package func take(at now: Int64, in transaction: WriteTransaction) throws -> Int64? {
    if let end = try end(ofOthersAt: now, in: transaction) { return end }
    try SyncValues.set(
      Self.key, "\(holder) \(now.addingClamped(Self.duration)) \(process)", in: transaction)
    held.withLock { $0 = true }
    return nil
  }

  /// Gives the lease up, if it is ours.
  func release(in transaction: WriteTransaction) throws {
    if try Self.current(in: transaction)?.holder == holder {
      try SyncValues.remove(Self.key, in: transaction)
    }
    held.withLock { $0 = false }
  }

  /// Who holds it now: a process that is alive, until the time it has said.
  static func holder(at now: Int64, in transaction: ReadTransaction) throws -> LeaseHolder? {
    guard let lease = try current(in: transaction), lease.end > now, isRunning(lease.process) else {
      return nil
    }
    return LeaseHolder(process: lease.process, end: lease.end)
  }

  private static func current(
    in transaction: ReadTransaction
  ) throws -> (holder: String, end: Int64, process: Int32)? {
    let parts = try SyncValues.value(key, in: transaction)?.split(separator: " ") ?? []
    guard parts.count == 3, let end = Int64(parts[1]), let process = Int32(parts[2]) else { return nil }
    return (String(parts[0]), end, process)
  }

  /// False only when there is surely no such process: one that may not be asked about counts as running.
  private static func isRunning(_ process: Int32) -> Bool {
    kill(process, 0) == 0 || errno != ESRCH
  }
}

/// The process that says it syncs a file.
package struct LeaseHolder: Sendable, Equatable {
  package var process: Int32
  /// Until when it says so, in milliseconds since 1970.
  package var end: Int64
}
