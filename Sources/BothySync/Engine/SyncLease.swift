import BothyStore

/// One row of the file that says which process is syncing it, for as long as it says: so that an app and its extension
/// do not do the same work twice. Nothing rests on it; whoever holds it and dies loses it by the clock.
struct SyncLease: Sendable {
  let holder: String
  /// How long a lease lasts without being renewed, in milliseconds; each exchange renews it.
  static let duration: Int64 = 30_000
  private static let key = "lease"

  /// Takes or renews the lease. Nil when it is ours now; else when that of another process ends.
  func take(at now: Int64, in transaction: WriteTransaction) throws -> Int64? {
    if let (other, end) = try Self.current(in: transaction), other != holder, end > now,
      end <= now + Self.duration
    {
      return end
    }
    try SyncValues.set(Self.key, "\(holder) \(now + Self.duration)", in: transaction)
    return nil
  }

  /// Gives the lease up, if it is ours.
  func release(in transaction: WriteTransaction) throws {
    if try Self.current(in: transaction)?.holder == holder {
      try SyncValues.remove(Self.key, in: transaction)
    }
  }

  static func current(in transaction: ReadTransaction) throws -> (holder: String, end: Int64)? {
    let parts = try SyncValues.value(key, in: transaction)?.split(separator: " ") ?? []
    guard parts.count == 2, let end = Int64(parts[1]) else { return nil }
    return (String(parts[0]), end)
  }
}
