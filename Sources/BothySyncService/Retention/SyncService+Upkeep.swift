import BothyStore

/// The upkeep of spaces, and what devices report for it.
extension SyncService {
  /// Notes the progress of the device of a request, by the cursors it sent. Returns false if it noted none. Cursors of
  /// another history are ignored, and so are places beyond 10,000 of all devices of the user.
  ///
  /// Uses one transaction for all scopes, and none if the request has no cursor with an epoch. Callers do it
  /// occasionally, not with each request. Returns false for a storage without upkeep. Tombstones are kept for noted
  /// devices that lack them, as `RetentionPolicy.acknowledgedAge` says.
  @discardableResult
  public func acknowledge(
    space: String, user: Caller = .anonymous, _ request: SyncRequest
  ) async throws -> Bool {
    guard let storage = storage.upkeep else { return false }
    var lowest: [Place: Int64] = [:]
    for pull in request.pulls {
      // A cursor without an epoch is from before the first write, so it holds back nothing.
      guard let cursor = pull.cursor.flatMap(Cursor.init(token:)), !cursor.epoch.isEmpty else { continue }
      let place = Place(scope: ScopeMark.base(of: cursor.scopeMark), epoch: cursor.epoch)
      lowest[place] = min(lowest[place] ?? .max, cursor.position)
    }
    guard !lowest.isEmpty else { return false }
    let progress = lowest.map { DeviceProgress(scope: $0.scope, position: $1, epoch: $0.epoch) }
    let device = DeviceName(request.device, of: user).text
    return try await storage.acknowledge(space: space, device: device, progress, at: now())
  }

  private struct Place: Hashable {
    var scope: String
    var epoch: String
  }

  /// Looks after a space at once, even if it isn't due. Marks the time, forgets data by its age, and deletes blobs and
  /// secrets without a record.
  ///
  /// Costs a transaction, or several if much is too old, and a read of the records if the space has blobs. Adds missing
  /// entries of indexes of fields, at most those of 100,000 records. May run while devices sync, and in several
  /// processes. A missing space gives an empty report.
  ///
  /// - Parameters:
  ///   - terms: the ages, in milliseconds. They may differ from call to call.
  ///   - collectsBlobs: false leaves out blobs and secrets, and so the reading of all records.
  /// - Throws: the errors of the storage and of the vaults. A later call does the rest.
  public func upkeep(
    space: String, _ terms: RetentionPolicy, collectsBlobs: Bool = true
  ) async throws -> RetentionReport {
    guard let storage = storage.upkeep else {
      guard collectsBlobs else { return RetentionReport() }
      return RetentionReport(blobs: try await collect(space, terms, since: nil).blobs)
    }
    var turn = MaintenanceTurn(time: now(), terms: terms)
    turn.collection = try await storage.lastCollection(of: space)
    var blobs = 0
    if collectsBlobs {
      (turn.collection, blobs) = try await collect(space, terms, since: turn.collection)
    }
    var report = RetentionReport(blobs: blobs)
    while true {
      let start = ContinuousClock.now
      guard let step = try await maintain(space, turn, storage) else { break }
      report.floor = step.floor ?? report.floor
      report.outcomes += step.outcomes
      guard step.isPartial else { break }
      // Other processes have the database for as long as this one had it.
      try await Task.sleep(for: ContinuousClock.now - start)
    }
    _ = try await completeIndexes(of: space)
    return report
  }

  /// Runs a turn. If its transaction couldn't forget all tombstones that are too old, the rest is forgotten in further
  /// ones, which read nothing else.
  private func maintain(
    _ space: String, _ turn: MaintenanceTurn, _ storage: any ServerMaintenance
  ) async throws -> RetentionReport? {
    var report = try await storage.maintain(space: space, turn)
    guard let floor = report?.wantedFloor else { return report }
    try await storage.compact(space: space, upTo: floor)
    report?.floor = floor
    return report
  }

  /// Looks after a space that the caller has taken. Unlike `upkeep(space:_:)`, it reads records for blobs and secrets
  /// at most once a day. It reads them only after a change of the space, or if the time of a blob is over. If much is too
  /// old, it takes several transactions, and may leave the space due.
  ///
  /// Returns `nil` if the lease ended and another caller has taken the space, or if the space is missing. Nothing was
  /// forgotten then, but blobs may be deleted. An error leaves the lease: call `ServerMaintenance.putOff(_:until:)` to
  /// have the space due earlier than at its end.
  public func upkeep(_ due: DueSpace, _ terms: RetentionPolicy) async throws -> RetentionReport? {
    guard let storage = storage.upkeep else { return nil }
    var turn = MaintenanceTurn(time: now(), terms: terms, lease: due.lease, collection: due.collection)
    var blobs = 0
    if await isCollectionDue(due, at: turn.time) {
      (turn.collection, blobs) = try await collect(due.space, terms, since: due.collection)
    } else if let last = due.collection, await hasNews(due.space, since: last.at) {
      let nextDay = last.at + RetentionPolicy.day
      turn.collection?.due = min(last.due ?? nextDay, nextDay)
    }
    var report = try await maintain(due.space, turn, storage)
    report?.blobs = blobs
    guard report != nil else { return nil }
    // An upload during the turn couldn't make the space due.
    let isComplete = try await completeIndexes(of: due.space)
    let hasNews = await hasNews(due.space, since: turn.time)
    if hasNews || !isComplete { try await storage.makeDue(space: due.space) }
    return report
  }
}
