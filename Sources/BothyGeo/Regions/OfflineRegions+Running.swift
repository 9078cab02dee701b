import BothyCache

/// Loading, pausing, refreshing and deleting regions.
extension OfflineRegions {
  /// Loads the missing tiles of a region. Returns its state when it is complete, paused, or finished with failures.
  ///
  /// Tiles that are on disk and fresh, or that came in this run or the run that it continues, aren't requested. Failed
  /// tiles are reported and skipped. The next `resume` tries them again.
  ///
  /// Some networks replace tiles with other content, for example before a sign-in. This ends the run, and replaced
  /// tiles are restored. While the policy doesn't allow the network, the run waits.
  ///
  /// Costs one look-up on the disk for each tile, a transaction for 256 tiles, and a request for each missing tile.
  ///
  /// - Throws: `BothyError`: `.interrupted` if the network is gone, the disk is full or all requests fail,
  ///   `.bulkForbidden`, `.regionBusy`, or `.unknownRegion`. Throws `CancellationError` if the task is cancelled.
  ///   Received tiles stay in each case.
  @discardableResult
  public func resume(_ id: Region.ID) async throws -> Region { try await run(id, isRefresh: false) }

  /// Validates each tile of a region with the server, and loads changed and missing tiles. Confirmed tiles stay
  /// unchanged. Stored tiles stay until a newer version has arrived.
  ///
  /// Tiles that the server reports as gone (404, 410, 204 or no bytes) stay too. They are counted in `progress.gone`
  /// and listed in `failures`, and the region's reason mentions them. With `removingGone`, they are deleted; this
  /// applies to this run alone.
  ///
  /// If interrupted or paused, it continues with `resume`, and confirmed tiles aren't requested again. Costs a request
  /// for each tile. Throws like `resume`.
  ///
  ///     let region = try await regions.refresh(id)
  ///     if region.progress.gone > 0, userAgrees { try await regions.refresh(id, removingGone: true) }
  @discardableResult
  public func refresh(_ id: Region.ID, removingGone: Bool = false) async throws -> Region {
    try await run(id, isRefresh: true, removesGone: removingGone)
  }

  /// Stops loading a region until it is resumed, also if another process loads it. Waits until a run of this process
  /// has ended, including its requests.
  public func pause(_ id: Region.ID) async throws(BothyError) {
    _ = try await file.region(id)
    try await file.pause(id)
    guard let run = control(of: id) else { return }
    run.pause()
    await run.ended()
  }

  /// Deletes a region. Tiles that other regions or pins need stay pinned. All others count against the cache's limits
  /// from now on, and are evicted when it needs space.
  ///
  /// Stops a run first. Costs a transaction for 512 tiles. If the process ends in between, the next call of `create` or
  /// `delete` finishes the deletion.
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

  /// Unpins the tiles of regions that are being deleted. A run of another process is waited for, as it stops within a
  /// second.
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
        throw BothyError(
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
    // Changes between the first read and the lock count.
    region = try await file.region(id)
    let now = cache.now
    if isRefresh {
      region.run = Region.Run(startedAt: now, isRefresh: true)
    } else {
      // If the clock was set back, stored tiles must not count as old forever.
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
      throw BothyError(
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
