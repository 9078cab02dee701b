import BothyStore

/// How long what nobody needs any more is kept. All in milliseconds.
public struct UpkeepTerms: Sendable, Hashable {
  /// Tombstones older than this go; a device that was away longer starts over and keeps its unsynced edits.
  public var tombstoneAge: Int64
  /// Tombstones older than this go when every device heard of within `tombstoneAge` has them.
  public var acknowledgedAge: Int64
  /// How long a blob is kept after the last record that names it was seen. At least two days: devices count on one.
  public var blobGrace: Int64

  /// 90 days, 7 days and 7 days unless told otherwise. `acknowledgedAge` is at most `tombstoneAge`, `blobGrace` at
  /// least two days, whatever is given.
  public init(tombstoneAge: Int64 = 90 * day, acknowledgedAge: Int64 = 7 * day, blobGrace: Int64 = 7 * day) {
    self.tombstoneAge = tombstoneAge
    self.acknowledgedAge = min(acknowledgedAge, tombstoneAge)
    self.blobGrace = max(blobGrace, 2 * Self.day)
  }

  /// The milliseconds of a day.
  public static let day: Int64 = 86_400_000
}

/// What one round of upkeep did to a space.
public struct UpkeepReport: Sendable, Hashable {
  /// The new floor, where it was moved.
  public var floor: Int64?
  /// The blobs that were removed.
  public var blobs = 0
}

extension Authority {
  /// Notes how far the device of a request is, by the cursors it sent: what it has, it need not be told again. Says whether
  /// there was anything to note; cursors of another history say nothing.
  ///
  /// One write transaction for each place it pulls from; callers do it now and then, not with each request.
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

  /// One round of upkeep of a space: marks the time, forgets tombstones that are old enough, removes blobs that no record
  /// names. Costs a few short transactions and, where the space has blobs, a read of its records.
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

  /// Up to where tombstones may be forgotten. Pure.
  ///
  /// - Parameters:
  ///   - old: where the head was when tombstones were young that are too old now.
  ///   - recent: the same for those that may go once every device has them.
  ///   - acknowledged: what every device has; nil when no device is known.
  static func floor(old: Int64, recent: Int64, acknowledged: Int64?) -> Int64 {
    max(old, min(recent, acknowledged ?? 0))
  }

  /// Removes the kept blobs of a space that no live record has named since `time`; says how many. Keeps those that records
  /// name and that came by themselves.
  ///
  /// The blobs are listed before the records are read, and asking for one keeps it: what an operation names meanwhile stays.
  func collectBlobs(space: String, unnamedSince time: Int64) async throws -> Int {
    guard let blobs else { return 0 }
    let kept = try await blobs.kept(in: space)
    let hasUnnamed = await blobs.hasUnnamed(in: space)
    let isWanting = try await !blobs.wanted(in: space, limit: 1).isEmpty
    guard !kept.isEmpty || hasUnnamed || isWanting else { return 0 }
    let named = try await ledger.read(space: space) { ledger in
      var named: Set<String> = []
      try ledger.forEachRecord(in: .space) { entry in
        for value in try entry.record.fields.members().values {
          if let blob = Blob(value) { named.insert(blob.sha256) }
        }
      }
      return named
    }
    // One that came after the record that names it was named by no operation since.
    if hasUnnamed { try await blobs.keep(named, in: space) }
    return try await blobs.release(kept, naming: named, unnamedSince: time, in: space)
  }
}
