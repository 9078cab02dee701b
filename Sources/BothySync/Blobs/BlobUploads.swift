import BothyStore

/// The blobs of one sync. It uploads those that records wait for, and marks the records whose blobs cannot be uploaded.
///
/// An exchange reads a waiting record once, and again when one of its blobs has arrived. Its needs are kept here, and so are
/// the records behind it.
struct BlobUploads {
  private let runner: SyncRunner
  private var request: SyncRunner.Request
  /// The changes that wait for each blob, by its name.
  private var waits: [String: Wait] = [:]
  /// The names of these blobs, in the order of uploading.
  private var queue: [String] = []
  /// The records with a blob that has arrived, or was given up, since they were last taken, and those behind them.
  private var arrived: Set<RecordID> = []
  private(set) var followers = BlobFollowers()
  private var uploads: [String: BlobUpload] = [:]
  private var refused: [String: Rejection] = [:]
  private var uploadedBytes: Int64 = 0
  /// The bytes of all waits that are left to upload, so that progress costs no look at each wait.
  private var bytesLeft: Int64 = 0
  /// The reason why blobs can't be uploaded now, kept until the records of the uploaded ones are sent.
  private var failure: (any Error)?

  /// The number of requests that are made before the sync does other work.
  private static let slice = 32

  /// The changes that wait for one blob.
  private struct Wait {
    var blob: Blob
    /// The number of failed tries before this sync.
    var attempts: Int64
    private(set) var needs: [BlobNeed] = []
    private var records: Set<RecordID> = []

    init(_ need: BlobNeed) { (blob, attempts) = (need.blob, need.attempts) }

    /// Adds a need, in place of an earlier one of its record.
    mutating func add(_ need: BlobNeed) {
      if records.insert(need.record).inserted { return needs.append(need) }
      for index in needs.indices where needs[index].record == need.record { needs[index] = need }
    }
  }

  init(_ runner: SyncRunner, _ request: SyncRunner.Request) {
    self.runner = runner
    self.request = request
  }

  /// Adds the needs that an exchange has found, and the records behind those that have them. The records behind one that
  /// was sent wait no longer.
  mutating func add(_ batch: PushBatch) {
    for item in batch.items { arrived.formUnion(followers.end(item.operation.record)) }
    for (record, leader) in batch.behind { followers.add(record, behind: leader) }
    if batch.blobs.isEmpty { return }
    for need in batch.blobs {
      let name = need.blob.sha256
      let isNew = waits[name] == nil
      waits[name, default: Wait(need)].add(need)
      guard isNew else { continue }
      queue.append(name)
      bytesLeft = bytesLeft.addingClamped(left(of: name))
    }
    // Blobs that failed before don't delay the others.
    let known = waits
    queue.sort { known[$0]?.attempts ?? 0 < known[$1]?.attempts ?? 0 }
  }

  /// Returns the records that the next exchange has to read again.
  mutating func takeArrived() -> Set<RecordID> {
    defer { arrived = [] }
    return arrived
  }

  /// Makes a few requests for the needed blobs. Returns true if they had an effect and the sync must continue.
  ///
  /// Throws `RemoteError` if blobs can't be uploaded now, and if the sync may not continue.
  mutating func advance(_ report: inout SyncReport) async throws -> Bool {
    if queue.isEmpty {
      if report.uploadedBlobs > 0 {
        try await BlobEviction(runner).run(budget: runner.configuration.blobs.budget)
      }
      return false
    }
    if let failure { throw failure }
    var (requests, finished, bytes) = (0, 0, Int64(0))
    var current: String?
    while let name = queue.first, requests < Self.slice,
      bytes < Int64(runner.configuration.blobs.partSize) * 4
    {
      request = try runner.goingOn(request)
      let before = uploads[name]?.offset ?? 0
      let (done, rest) = (report.uploadedBlobs, left(of: name))
      let isDecided: Bool
      do {
        if isHeld(name) {
          isDecided = true
        } else if name != current, try await !isNeeded(name) {
          isDecided = true
        } else {
          isDecided = try await advance(name, &report, &requests)
        }
      } catch {
        guard finished > 0 else { throw error }
        failure = error
        return true
      }
      current = name
      finished += report.uploadedBlobs - done
      bytes += max(0, (uploads[name]?.offset ?? 0) - before)
      bytesLeft = bytesLeft.subtractingClamped(rest).addingClamped(left(of: name))
      tell(report)
      if isDecided { end(name) }
    }
    return true
  }

  /// Ends the waits for the first blob of the queue.
  private mutating func end(_ name: String) {
    queue.removeFirst()
    bytesLeft = bytesLeft.subtractingClamped(left(of: name))
    for record in waits.removeValue(forKey: name)?.needs.map(\.record) ?? [] {
      arrived.insert(record)
      arrived.formUnion(followers.end(record))
    }
  }

  /// True if the network rules hold back the changes of all records that wait for the blob.
  private func isHeld(_ name: String) -> Bool {
    let held = request.heldTypes
    return !held.isEmpty && waits[name]?.needs.allSatisfy { held.contains($0.record.type) } ?? false
  }

  /// True if a change waits for the blob as before. It doesn't if the change was edited since, or if another sync has
  /// uploaded the blob.
  private func isNeeded(_ name: String) async throws -> Bool {
    guard let needs = waits[name]?.needs else { return false }
    let now = runner.clock.now()
    return try await runner.store.read { transaction in
      if try BlobTable.row(name, in: transaction)?.isTrusted(at: now) ?? false { return false }
      return try needs.contains {
        try OutboxQueue.change(of: $0.record, at: $0.revision, in: transaction) != nil
      }
    }
  }

  /// Makes one step for one blob. Returns true if this sync has finished with it.
  private mutating func advance(
    _ name: String, _ report: inout SyncReport, _ requests: inout Int
  ) async throws -> Bool {
    guard let wait = waits[name] else { return true }
    if let rejection = refused[name] { return try await postpone(wait.needs, rejection, &report) }
    guard let remote = runner.remote.blobs else {
      return try await postpone(wait.needs, .blobsUnsupported, &report)
    }
    if let known = uploads[name], known.isDone { return true }
    var upload = uploads[name] ?? BlobUpload(wait.blob, runner, attempts: wait.attempts)
    defer { uploads[name] = upload }
    let before = upload.offset ?? 0
    requests += 1
    report.requests += 1
    do {
      switch try await upload.step(remote) {
      case .moved:
        uploadedBytes += max(0, (upload.offset ?? 0) - before)
        return false
      case .done:
        report.uploadedBlobs += 1
        return true
      case .refused(let rejection):
        refused[name] = rejection
        return try await postpone(wait.needs, rejection, &report)
      }
    } catch {
      try await runner.store.write(origin: .remote) { try BlobTable.countFailure(name, in: $0) }
      throw error
    }
  }

  /// Publishes the progress of the sync, with the bytes that blobs have left.
  func tell(_ report: SyncReport) {
    var progress = SyncStatus.Progress(
      pushed: report.pushed, pulled: report.pulled, requests: report.requests)
    progress.uploadedBytes = uploadedBytes
    progress.bytesToUpload = bytesLeft
    runner.progress(progress)
  }

  /// Returns the bytes of a wait that are left to upload.
  private func left(of name: String) -> Int64 {
    guard let wait = waits[name], refused[name] == nil, uploads[name]?.isDone != true else { return 0 }
    return Int64(clamping: wait.blob.size).subtractingClamped(uploads[name]?.offset ?? 0)
  }

  /// Marks the records as rejected, unless they were changed since. Those that were changed since they were sent are sent
  /// as they are now. Returns true.
  private func postpone(
    _ needs: [BlobNeed], _ rejection: Rejection, _ report: inout SyncReport
  ) async throws -> Bool {
    for need in needs {
      let found = try await runner.store.write(origin: .remote) { transaction -> SyncReport in
        var applier = PushResultApplier(
          transaction: transaction, clock: runner.clock, configuration: runner.configuration)
        guard let entry = try OutboxQueue.entry(need.record, in: transaction), entry.revision == need.revision
        else {
          return applier.report
        }
        // Edited since it was sent: the blob was that of the sent change.
        if entry.operationID != nil, entry.sentRevision != entry.revision {
          try OutboxQueue.recall(sent: entry, in: transaction)
          return applier.report
        }
        try applier.refuse(unsent: entry, rejection)
        return applier.report
      }
      report.add(found)
    }
    return true
  }
}

extension Rejection {
  static let blobsUnsupported = Rejection(
    code: BothyError.Code.blobsUnsupported.rawValue,
    message: "This server keeps no blobs. Clear the field, or sync with a server that keeps them.")
}

/// The records that one sync leaves out because they need a record that waits for blobs.
struct BlobFollowers {
  /// The record that each of them is behind, which may be behind another.
  private var leaders: [RecordID: RecordID] = [:]
  private var followers: [RecordID: Set<RecordID>] = [:]

  mutating func add(_ record: RecordID, behind leader: RecordID) {
    remove(record)
    leaders[record] = leader
    followers[leader, default: []].insert(record)
  }

  private mutating func remove(_ record: RecordID) {
    if let leader = leaders.removeValue(forKey: record) { followers[leader]?.remove(record) }
  }

  /// Ends the wait of all records behind one, whose own wait has ended, and returns them.
  mutating func end(_ record: RecordID) -> Set<RecordID> {
    guard !leaders.isEmpty else { return [] }
    remove(record)
    var ended: Set<RecordID> = []
    var open = [record]
    while let leader = open.popLast() {
      for follower in followers.removeValue(forKey: leader) ?? [] {
        leaders[follower] = nil
        if ended.insert(follower).inserted { open.append(follower) }
      }
    }
    return ended
  }

  /// Returns the blocked changes of an exchange, and those that it left out.
  func blocked(beside known: [SyncReport.Blocked]) -> [SyncReport.Blocked] {
    var others = leaders
    for each in known { others[each.record] = nil }
    let left = others.map { SyncReport.Blocked(record: $0.key, by: $0.value) }
    return known + left.sorted { ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id) }
  }
}
