package import BothyStore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// One row of the file that says which process is syncing it, for as long as it says: so that an app and its extension
/// do not do the same work twice. Nothing rests on it; whoever holds it and dies has lost it.
package struct SyncLease: Sendable {
  let holder: String
  let process: Int32
  /// How long a lease lasts without being renewed, in milliseconds; each exchange renews it.
  static let duration: Int64 = 30_000
  private static let key = "lease"

  package init(process: Int32 = getpid()) {
    holder = UUIDv7.make()
    self.process = process
  }

  /// Takes or renews the lease. Nil when it is ours now; else when that of another process ends.
  package func take(at now: Int64, in transaction: WriteTransaction) throws -> Int64? {
    if let other = try Self.current(in: transaction), other.holder != holder, other.end > now,
      other.end <= now + Self.duration, Self.isRunning(other.process)
    {
      return other.end
    }
    try SyncValues.set(Self.key, "\(holder) \(now + Self.duration) \(process)", in: transaction)
    return nil
  }

  /// Gives the lease up, if it is ours.
  func release(in transaction: WriteTransaction) throws {
    if try Self.current(in: transaction)?.holder == holder {
      try SyncValues.remove(Self.key, in: transaction)
    }
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
