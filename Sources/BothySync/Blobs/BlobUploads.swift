import BothyStore

/// The blobs of one sync. It uploads those that records wait for, and marks the records whose blobs cannot be uploaded.
struct BlobUploads {
  private let runner: SyncRunner
  private let request: SyncRunner.Request
  private var uploads: [String: BlobUpload] = [:]
  private var refused: [String: Rejection] = [:]
  private var uploadedBytes: Int64 = 0
  /// The reason why blobs can't be uploaded now, kept until the records of the uploaded ones are sent.
  private var failure: (any Error)?

  /// The number of requests that are made before the sync does other work.
  private static let slice = 32

  init(_ runner: SyncRunner, _ request: SyncRunner.Request) {
    self.runner = runner
    self.request = request
  }

  /// Makes a few requests for the needed blobs. Returns true if they had an effect and the sync must continue.
  ///
  /// Throws `RemoteError` if blobs can't be uploaded now, and if the sync may not continue.
  mutating func advance(_ needs: [BlobNeed], _ report: inout SyncReport) async throws -> Bool {
    if needs.isEmpty {
      if report.uploadedBlobs > 0 { try await BlobEviction(runner).run() }
      return false
    }
    if let failure { throw failure }
    // Blobs that failed before don't delay the others.
    var ordered = needs.sorted { $0.attempts < $1.attempts }[...]
    var requests = 0
    var bytes: Int64 = 0
    var finished = 0
    while let need = ordered.first, requests < Self.slice,
      bytes < Int64(runner.configuration.blobs.partSize) * 4
    {
      try runner.checkMayGoOn(request)
      let before = uploads[need.blob.sha256]?.offset ?? 0
      let done = report.uploadedBlobs
      let isDecided: Bool
      do { isDecided = try await advance(need, &report, &requests) } catch {
        guard finished > 0 else { throw error }
        failure = error
        return true
      }
      finished += report.uploadedBlobs - done
      bytes += max(0, (uploads[need.blob.sha256]?.offset ?? 0) - before)
      tell(needs, report)
      if isDecided { ordered.removeFirst() }
    }
    return true
  }

  /// Makes one step for one need. Returns true if this sync has finished with it.
  private mutating func advance(
    _ need: BlobNeed, _ report: inout SyncReport, _ requests: inout Int
  ) async throws -> Bool {
    let name = need.blob.sha256
    if let rejection = refused[name] { return try await postpone(need, rejection, &report) }
    guard let remote = runner.remote.blobs else {
      return try await postpone(need, .blobsUnsupported, &report)
    }
    // Two records may name one blob.
    if let known = uploads[name], known.isDone { return true }
    var upload = uploads[name] ?? BlobUpload(need.blob, runner, attempts: need.attempts)
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
        return try await postpone(need, rejection, &report)
      }
    } catch {
      try await runner.store.write(origin: .remote) { try BlobTable.countFailure(name, in: $0) }
      throw error
    }
  }

  private func tell(_ needs: [BlobNeed], _ report: SyncReport) {
    var left: [String: Int64] = [:]
    for need in needs where refused[need.blob.sha256] == nil {
      let upload = uploads[need.blob.sha256]
      left[need.blob.sha256] =
        upload?.isDone ?? false ? 0 : Int64(need.blob.size).subtractingClamped(upload?.offset ?? 0)
    }
    var progress = SyncStatus.Progress(
      pushed: report.pushed, pulled: report.pulled, requests: report.requests)
    progress.uploadedBytes = uploadedBytes
    progress.bytesToUpload = left.values.reduce(0) { $0.addingClamped($1) }
    runner.progress(progress)
  }

  /// Marks the record as rejected, unless it was changed since.
  private func postpone(_ need: BlobNeed, _ rejection: Rejection, _ report: inout SyncReport) async throws
    -> Bool
  {
    let found = try await runner.store.write(origin: .remote) { transaction -> SyncReport in
      var applier = PushResultApplier(
        transaction: transaction, clock: runner.clock, configuration: runner.configuration)
      guard let entry = try OutboxQueue.entry(need.record, in: transaction), entry.revision == need.revision
      else {
        return applier.report
      }
      try applier.refuse(unsent: entry, rejection)
      return applier.report
    }
    report.add(found)
    return true
  }
}

extension Rejection {
  static let blobsUnsupported = Rejection(
    code: BothyError.Code.blobsUnsupported.rawValue,
    message: "This server keeps no blobs. Clear the field, or sync with a server that keeps them.")
}
