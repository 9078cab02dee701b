import BothyStore

/// The time for which unneeded data is kept. All in milliseconds.
public struct UpkeepTerms: Sendable, Hashable {
  /// The age after which tombstones are deleted. A device that was away longer starts over and keeps its pending
  /// changes.
  public var tombstoneAge: Int64
  /// The age after which tombstones are deleted if every device with a request within `tombstoneAge` has them.
  public var acknowledgedAge: Int64
  /// The time a blob is kept after the last record that names it was seen. At least two days, as devices rely on one.
  public var blobGrace: Int64

  /// Makes terms, by default of 90 days, 7 days and 7 days. `acknowledgedAge` is at most `tombstoneAge`, and
  /// `blobGrace` at least two days, for all parameters.
  public init(tombstoneAge: Int64 = 90 * day, acknowledgedAge: Int64 = 7 * day, blobGrace: Int64 = 7 * day) {
    self.tombstoneAge = tombstoneAge
    self.acknowledgedAge = min(acknowledgedAge, tombstoneAge)
    self.blobGrace = max(blobGrace, 2 * Self.day)
  }

  /// The milliseconds of a day.
  public static let day: Int64 = 86_400_000
}

/// The effect of one upkeep of a space.
public struct UpkeepReport: Sendable, Hashable {
  /// The new floor, if it was moved.
  public var floor: Int64?
  /// The number of deleted blobs.
  public var blobs = 0
}

extension SyncService {
  /// Notes the progress of the device of a request, by the cursors it sent. Returns true if it noted any. Cursors of
  /// another history are ignored.
  ///
  /// Uses one write transaction for each scope of the request. Callers do it occasionally, not with each request.
  @discardableResult
  public func acknowledge(space: String, _ request: SyncRequest) async throws -> Bool {
    guard let ledger = ledger.upkeep else { return false }
    let epoch = try await ledger.read(space: space) { $0.epoch }
    var isNoted = false
    for pull in request.pulls {
      guard let cursor = pull.cursor.flatMap(Cursor.init(token:)), cursor.epoch == epoch else { continue }
      isNoted = true
      try await ledger.acknowledge(
        space: space, device: request.device, scope: ScopeMark.base(of: cursor.scopeMark),
        position: cursor.position, at: now())
    }
    return isNoted
  }

  /// Runs one upkeep of a space: marks the time, forgets old tombstones, and deletes blobs without a record. Costs a
  /// few short transactions and, if the space has blobs, a read of its records.
  ///
  /// - Parameter collectsBlobs: false leaves out the blobs, and so the reading of all records.
  public func upkeep(
    space: String, _ terms: UpkeepTerms, collectsBlobs: Bool = true
  ) async throws -> UpkeepReport {
    var report = UpkeepReport()
    if let ledger = ledger.upkeep {
      report.floor = try await compact(space, terms, ledger)
    }
    if collectsBlobs {
      try await sweepSecrets(space: space)
      report.blobs = try await collectBlobs(space: space, unnamedSince: now() - terms.blobGrace)
    }
    onUpkeep?(now())
    return report
  }

  private func compact(_ space: String, _ terms: UpkeepTerms, _ ledger: any LedgerUpkeep) async throws
    -> Int64?
  {
    let now = now()
    let old = now - terms.tombstoneAge
    try await ledger.mark(space: space, at: now, keepingSince: old)
    let floor = try await Self.floor(
      old: ledger.position(of: space, markedBefore: old),
      recent: ledger.position(of: space, markedBefore: now - terms.acknowledgedAge),
      acknowledged: ledger.acknowledged(space: space, since: old))
    guard try await ledger.read(space: space, { $0.floor }) < floor else { return nil }
    try await ledger.compact(space: space, upTo: floor)
    return floor
  }

  /// Returns the position up to which tombstones may be forgotten. Pure.
  ///
  /// - Parameters:
  ///   - old: the head at the time when tombstones that are too old now were new.
  ///   - recent: the head at the time of tombstones that may be deleted after every device has them.
  ///   - acknowledged: the position that every device has; `nil` if the server knows no device.
  static func floor(old: Int64, recent: Int64, acknowledged: Int64?) -> Int64 {
    max(old, min(recent, acknowledged ?? 0))
  }

  /// Deletes the kept blobs of a space that live records have not named since `time`. Returns their number. Keeps blobs
  /// that records name, also those that were uploaded after their record.
  ///
  /// The blobs are listed before the records are read, and a request for a blob keeps it. So a blob that an operation
  /// names meanwhile stays.
  func collectBlobs(space: String, unnamedSince time: Int64) async throws -> Int {
    guard let blobs else { return 0 }
    let kept = try await blobs.kept(in: space)
    let hasUnnamed = await blobs.hasUnnamed(in: space)
    let isWanting = try await !blobs.wanted(in: space, limit: 1).isEmpty
    guard !kept.isEmpty || hasUnnamed || isWanting else { return 0 }
    let named = try await ledger.read(space: space) { ledger in
      var named: Set<String> = []
      try ledger.forEachRecord(in: .everything) { entry in
        for value in try entry.record.fields.members().values {
          if let blob = Blob(value) { named.insert(blob.sha256) }
        }
      }
      return named
    }
    // A blob that came after its record was not named by an operation since.
    if hasUnnamed { try await blobs.keep(named, in: space) }
    return try await blobs.release(kept, naming: named, unnamedSince: time, in: space)
  }
}
