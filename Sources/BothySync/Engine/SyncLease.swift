package import BothyStore
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One row of the file that names the process that syncs it, for a limited time. It keeps an app and its extension from
/// doing equal work twice. Correctness doesn't depend on it, and a process that dies loses it.
///
/// It is acquired and released in transactions that write something anyway.
package final class SyncLease: Sendable {
  let holder: String
  let process: Int32
  /// The lifetime of a lease that isn't renewed, in milliseconds. Each exchange renews it.
  static let duration: Int64 = 30_000
  private static let key = "lease"
  private let held = Mutex(false)
  /// The number of running syncs of this process. The last of them releases the lease.
  private let passes = Mutex(0)

  package init(process: Int32 = getpid()) {
    holder = UUIDv7.make()
    self.process = process
  }

  /// True if it was acquired and not released since, as far as this process knows.
  var isHeld: Bool { held.withLock { $0 } }

  func begin() { passes.withLock { $0 += 1 } }

  /// Returns true if no sync needs the lease.
  func end() -> Bool {
    passes.withLock { count in
      count -= 1
      return count == 0
    }
  }

  /// True if the calling sync may release the lease, because no other runs.
  var isLast: Bool { isHeld && passes.withLock { $0 <= 1 } }

  /// Returns the end of another process's lease, or `nil` if no other process holds it.
  package func end(ofOthersAt now: Int64, in transaction: ReadTransaction) throws -> Int64? {
    guard let other = try Self.current(in: transaction), other.holder != holder, other.end > now,
      other.end <= now.addingClamped(Self.duration), Self.isRunning(other.process)
    else { return nil }
    return other.end
  }

  /// Acquires or renews the lease, unless another process holds it. Returns the end of that process's lease.
  @discardableResult
  package func take(at now: Int64, in transaction: WriteTransaction) throws -> Int64? {
    if let end = try end(ofOthersAt: now, in: transaction) { return end }
    try SyncValues.set(
      Self.key, "\(holder) \(now.addingClamped(Self.duration)) \(process)", in: transaction)
    held.withLock { $0 = true }
    return nil
  }

  /// Releases the lease, if this process holds it.
  func release(in transaction: WriteTransaction) throws {
    if try Self.current(in: transaction)?.holder == holder {
      try SyncValues.remove(Self.key, in: transaction)
    }
    held.withLock { $0 = false }
  }

  /// Returns the process that holds the lease now. The process must be alive, and the lease not expired.
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

  /// Returns false only if the process certainly doesn't exist. A process without access rights counts as running.
  private static func isRunning(_ process: Int32) -> Bool {
    kill(process, 0) == 0 || errno != ESRCH
  }
}

/// The process that holds the lease of a file.
package struct LeaseHolder: Sendable, Equatable {
  package var process: Int32
  /// The end of the lease, in milliseconds since 1970.
  package var end: Int64
}
