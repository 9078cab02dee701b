import BothyStore
import GRDB

/// Single values that sync keeps in the file: the device's id, the offset of its clock and similar ones.
package enum SyncValues {
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
  package static func reading<Result>(
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

  package static func value(_ key: String, in transaction: ReadTransaction) throws -> String? {
    try transaction.first("SELECT value FROM bothy_sync WHERE key = ?", key) { $0.text(at: 0) }
  }

  package static func set(_ key: String, _ value: String, in transaction: WriteTransaction) throws {
    try transaction.run("INSERT OR REPLACE INTO bothy_sync VALUES (?, ?)", key, value)
  }

  package static func remove(_ key: String, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_sync WHERE key = ?", key)
  }
}
