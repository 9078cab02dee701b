import BothyCache

/// Loading, pausing, refreshing and letting go.
extension OfflineRegions {
  /// Loads what a region lacks, and returns how it stands when that is done, paused or gone through with failures.
  ///
  /// What is on disk and fresh, or came in this run or in one that it goes on with, is not asked for. Tiles that fail are
  /// told of and left; they are tried when the region is resumed again. A network that puts something else in the place
  /// of the tiles, as one that wants a sign-in does, ends the run, and what it replaced is put back. Waits while the policy does not allow the
  /// network there is. Costs one look at the disk for each tile, a transaction for 256, and a request for each that
  /// is lacking.
  ///
  /// - Throws: `GeoError`: `.interrupted` when the network is gone, the disk is full or nothing but failures comes,
  ///   `.bulkForbidden`, `.regionBusy`, `.unknownRegion`; `CancellationError` when the task is cancelled. What came
  ///   stays in each case.
  @discardableResult
  public func resume(_ id: Region.ID) async throws -> Region { try await run(id, isRefresh: false) }

  /// Has the server confirm each tile of a region, and loads what changed and what it lacks. What the server confirms
  /// stays as it is; what is there stays until better has come.
  ///
  /// A tile that the server says is gone (404, 410, 204 or no bytes) is kept too: `progress.gone` counts these, `failures`
  /// names them, and the region's reason says so. With `removingGone` they go; that holds for this run alone.
  ///
  /// Interrupted or paused, it goes on with `resume`: what was confirmed is not asked for again. Costs a request for each
  /// tile; throws as `resume`.
  ///
  ///     let region = try await regions.refresh(id)
  ///     if region.progress.gone > 0, userAgrees { try await regions.refresh(id, removingGone: true) }
  @discardableResult
  public func refresh(_ id: Region.ID, removingGone: Bool = false) async throws -> Region {
    try await run(id, isRefresh: true, removesGone: removingGone)
  }

  /// Stops the loading of a region, also one that another process loads, until it is resumed. Returns when a run of this
  /// process has ended; what was asked for is waited for.
  public func pause(_ id: Region.ID) async throws(GeoError) {
    _ = try await file.region(id)
    try await file.pause(id)
    guard let run = control(of: id) else { return }
    run.pause()
    await run.ended()
  }

  /// Forgets a region. Tiles that another region or anybody else holds stay held; the others count against the cache's
  /// limits from now on, and go when it has to make room.
  ///
  /// A run is stopped first. Costs a transaction for 512 tiles. Should the process end meanwhile, the next call of
  /// `create` or `delete` finishes it.
  public func delete(_ id: Region.ID) async throws {
    await restored()
    _ = try await file.region(id)
    try await file.markDeleting(id)
    endProgress(of: id)
    if let run = control(of: id) {
      run.pause()
      await run.ended()
    }
    try await finishDeletions()
  }

  /// Lets go of what regions held that are being deleted. One that another process still loads is left to it: it stops
  /// within a second.
  func finishDeletions() async throws {
    await restored()
    for region in try await file.deletings() {
      var lock: RegionLock?
      for _ in 0..<50 {
        lock = try RegionLock(lockPath(region.id))
        if lock != nil { break }
        try await cache.wait(.milliseconds(100))
      }
      guard let lock else {
        throw GeoError(
          .regionBusy,
          "The region '\(region.name)' is still being loaded by another process. End that, then delete it again."
        )
      }
      try await cache.unpin(by: region.holder)
      try await file.remove(region.id)
      lock.remove()
      lock.release()
    }
  }

  private func run(_ id: Region.ID, isRefresh: Bool, removesGone: Bool = false) async throws -> Region {
    await restored()
    var region = try await file.region(id)
    let source = try allowing(region.plan)
    let (lock, control) = try enter(id)
    defer {
      lock.release()
      leave(id)
    }
    // What was written between the first look and the lock counts.
    region = try await file.region(id)
    let now = cache.now
    if isRefresh {
      region.run = Region.Run(startedAt: now, isRefresh: true)
    } else {
      // A clock that went back must not make what is there count as old for ever.
      region.run.startedAt = min(region.run.startedAt, now)
    }
    region.run.removesGone = removesGone
    try await file.begin(region)
    let stop: RegionRun.Stop?
    do {
      var run = try RegionRun(region, cache, file, control, source.freshness)
      stop = try await run.perform()
      region.progress = run.progress
    } catch {
      try await file.end(id, .interrupted, reason: nil, at: cache.now)
      throw error
    }
    switch stop {
    case .paused: break
    case .interrupted(let error):
      try await file.end(id, .interrupted, reason: error.message, at: cache.now)
      throw GeoError(
        .interrupted,
        "Loading the region '\(region.name)' stopped after \(region.progress.done) of \(region.tiles) tiles; resume it "
          + "to go on. \(error.message)", underlying: error)
    case nil:
      try await file.end(
        id, region.progress.failed == 0 ? .complete : .partial, reason: Self.goneReason(region.progress),
        at: cache.now)
    }
    return try await file.region(id)
  }

  private static func goneReason(_ progress: RegionProgress) -> String? {
    guard progress.gone > 0 else { return nil }
    return
      "The server says that \(progress.gone) of its \(progress.total) tiles are gone; they are kept. Refresh it with "
      + "removal to let them go."
  }
}
