import BothySyncService

extension ServerMaintenance {
  /// Runs a turn without a lease, by default with the usual terms.
  @discardableResult
  func turn(
    _ space: String, at time: Int64, _ terms: RetentionPolicy = RetentionPolicy(),
    collection: BlobCollection? = nil
  ) async throws -> RetentionReport? {
    try await maintain(space: space, MaintenanceTurn(time: time, terms: terms, collection: collection))
  }

  /// Runs a turn that keeps marks, tombstones and devices since `oldest`.
  func turn(_ space: String, at time: Int64, keepingSince oldest: Int64) async throws {
    try await turn(space, at: time, RetentionPolicy(tombstoneAge: time - oldest))
  }

  /// Returns true if one space is due at `time`, and none a millisecond before.
  func isDue(at time: Int64) async throws -> Bool {
    let before = try await dueCount(at: time - 1, limit: 9)
    return try await dueCount(at: time, limit: 9) == 1 && before == 0
  }
}
