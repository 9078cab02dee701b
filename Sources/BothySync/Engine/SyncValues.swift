package import BothyStore
import GRDB
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Single values that sync keeps in the file: the device's id, the offset of its clock and similar ones.
enum SyncValues {
  static func device(in transaction: WriteTransaction) throws -> String {
    if let known = try value("device", in: transaction) { return known }
    let made = UUIDv7.make()
    try set("device", made, in: transaction)
    return made
  }

  /// True if syncing is paused, by whatever process.
  static func isPaused(in transaction: ReadTransaction) throws -> Bool {
    try value("paused", in: transaction) != nil
  }

  static func setPaused(_ isPaused: Bool, in transaction: WriteTransaction) throws {
    guard isPaused else { return try remove("paused", in: transaction) }
    try set("paused", "1", in: transaction)
  }

  static func save(_ estimate: SyncClock.Estimate, in transaction: WriteTransaction) throws {
    var parts = [estimate.offset, estimate.roundTrip, estimate.measuredAt].map(String.init)
    if let uptime = estimate.uptime { parts += [String(uptime.milliseconds), uptime.boot] }
    try set("clock", parts.joined(separator: " "), in: transaction)
  }

  static func estimate(in transaction: ReadTransaction) throws -> SyncClock.Estimate? {
    let parts = try value("clock", in: transaction)?.split(separator: " ").map(String.init) ?? []
    let numbers = parts.prefix(4).compactMap { Int64($0) }
    guard numbers.count >= 3 else { return nil }
    let uptime =
      parts.count == 5 && numbers.count == 4 ? Uptime(boot: parts[4], milliseconds: numbers[3]) : nil
    return SyncClock.Estimate(
      offset: numbers[0], roundTrip: numbers[1], measuredAt: numbers[2], uptime: uptime)
  }

  /// Returns the server's message when it required a newer version of the app than `version`. Returns `nil` after an
  /// update.
  static func updateRequired(at version: Int, in transaction: ReadTransaction) throws -> String? {
    guard let text = try value("updateRequired", in: transaction) else { return nil }
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let parked = Int(parts[0]), version <= parked else { return nil }
    return String(parts[1])
  }

  static func setUpdateRequired(_ message: String?, at version: Int, in transaction: WriteTransaction) throws
  {
    guard let message else { return try remove("updateRequired", in: transaction) }
    try set("updateRequired", "\(version) \(message)", in: transaction)
  }

  /// Reads the values of a file without opening it as a store. Returns `nil` for a file of no synced store.
  static func reading<Result>(
    _ path: String, _ schema: StoreSchema = StoreSchema(types: []),
    _ body: (ReadTransaction) throws -> Result?
  ) throws -> Result? {
    do {
      return try Connections.reading(path) { database in
        guard try database.tableExists("bothy_sync") else { return nil }
        return try body(ReadTransaction(database, Catalog(schema)))
      }
    } catch { throw BothyError(error, path: path) }
  }

  static func value(_ key: String, in transaction: ReadTransaction) throws -> String? {
    try transaction.first("SELECT value FROM bothy_sync WHERE key = ?", key) { $0.text(at: 0) }
  }

  static func set(_ key: String, _ value: String, in transaction: WriteTransaction) throws {
    try transaction.run("INSERT OR REPLACE INTO bothy_sync VALUES (?, ?)", key, value)
  }

  static func remove(_ key: String, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_sync WHERE key = ?", key)
  }
}

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
      other.end <= now.addingClamped(Self.duration), RunningProcess.exists(other.process)
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
    guard let lease = try current(in: transaction), lease.end > now, RunningProcess.exists(lease.process)
    else { return nil }
    return LeaseHolder(process: lease.process, end: lease.end)
  }

  private static func current(
    in transaction: ReadTransaction
  ) throws -> (holder: String, end: Int64, process: Int32)? {
    let parts = try SyncValues.value(key, in: transaction)?.split(separator: " ") ?? []
    guard parts.count == 3, let end = Int64(parts[1]), let process = Int32(parts[2]) else { return nil }
    return (String(parts[0]), end, process)
  }
}

/// The process that holds the lease of a file.
package struct LeaseHolder: Sendable, Equatable {
  package var process: Int32
  /// The end of the lease, in milliseconds since 1970.
  package var end: Int64
}
