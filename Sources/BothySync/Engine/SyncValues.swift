import BothyStore

/// Single values that sync keeps in the file: who this device is, how far its clock is off.
enum SyncValues {
  static func device(in transaction: WriteTransaction) throws -> String {
    if let known = try value("device", in: transaction) { return known }
    let made = UUIDv7.make()
    try set("device", made, in: transaction)
    return made
  }

  static func save(_ estimate: SyncClock.Estimate, in transaction: WriteTransaction) throws {
    try set("clock", "\(estimate.offset) \(estimate.roundTrip) \(estimate.measuredAt)", in: transaction)
  }

  static func estimate(in transaction: ReadTransaction) throws -> SyncClock.Estimate? {
    let numbers = try value("clock", in: transaction)?.split(separator: " ").compactMap { Int64($0) } ?? []
    guard numbers.count == 3 else { return nil }
    return SyncClock.Estimate(offset: numbers[0], roundTrip: numbers[1], measuredAt: numbers[2])
  }

  static func value(_ key: String, in transaction: ReadTransaction) throws -> String? {
    let select = try PreparedStatement("SELECT value FROM bothy_sync WHERE key = ?", in: transaction.database)
    select.bind(key, at: 1)
    defer { select.reset() }
    return try select.step() ? select.text(at: 0) : nil
  }

  static func set(_ key: String, _ value: String, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO bothy_sync VALUES (?, ?)", in: transaction.database)
    insert.bind(key, at: 1)
    insert.bind(value, at: 2)
    try insert.run()
  }

  static func remove(_ key: String, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement("DELETE FROM bothy_sync WHERE key = ?", in: transaction.database)
    delete.bind(key, at: 1)
    try delete.run()
  }
}
