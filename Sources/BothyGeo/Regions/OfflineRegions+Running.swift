import BothyCache
import Foundation

/// Loading, pausing, refreshing and deleting regions.
extension OfflineRegions {
  /// Loads the missing tiles of a region. Returns its state when it is complete, paused, or finished with failures.
  ///
  /// Tiles that are on disk and fresh, or that came in this run or the run that it continues, aren't requested. Failed
  /// tiles are reported and skipped. The next `resume` tries them again. If the server of a style's source is down, the
  /// other sources are loaded without it.
  ///
  /// New versions of stored tiles are collected first. When the server has answered for each tile, they replace the
  /// stored ones together. Some networks send other content in place of tiles, for example before a sign-in. This ends
  /// the run, and nothing is replaced. While the policy doesn't allow the network, the run waits. All tiles of an archive
  /// on a server are of one version of it. If the server replaces the archive, the run begins again, and progress starts
  /// from zero.
  ///
  /// Costs one look-up on the disk for each tile, a transaction for 256 tiles, and a request for each missing tile.
  ///
  /// - Throws: `BothyError`: `interrupted` if the network is gone, the disk is full or all requests fail, `.diskFull`
  ///   if the run can't begin for that, `.signInRequired` if a network answers in place of the server, `.bulkForbidden`,
  ///   `regionBusy`, or `unknownRegion`. Throws `CancellationError`, or `.cancelled` before the run begins, if the task
  ///   is cancelled. Received tiles stay in each case.
  @discardableResult
  public func resume(_ id: Region.ID) async throws -> Region { try await run(id, isRefresh: false) }

  /// Validates each tile of a region with the server, and loads changed and missing tiles. Confirmed tiles stay
  /// unchanged. Readers receive the stored tiles until the refresh is complete. A region whose refresh was interrupted
  /// is outdated. Changed tiles need space on the disk twice for that time.
  ///
  /// Tiles that the server reports as gone (404, 410, 204 or no bytes) stay too. They are counted in `progress.gone`
  /// and listed in `failures`, and the region's reason mentions them. With `removingGone`, they are deleted, except those
  /// that another region or holder has pinned; this applies to this run alone.
  ///
  /// If interrupted or paused, it continues with `resume`, and confirmed tiles aren't requested again. After a crash, up
  /// to 64 of them are. Costs a request for each tile, a transaction of the list for 64, and one of the cache for 256 or a
  /// megabyte. Throws like `resume`.
  ///
  /// ```swift
  /// let refreshed = try await regions.refresh(region.id)
  /// if refreshed.progress.gone > 0 { try await regions.refresh(region.id, removingGone: true) }  // after a question
  /// ```
  @discardableResult
  public func refresh(_ id: Region.ID, removingGone: Bool = false) async throws -> Region {
    try await run(id, isRefresh: true, removesGone: removingGone)
  }

  /// Stops loading a region until it is resumed, also if another process loads it. Waits until a run of this process
  /// has ended.
  ///
  /// Running requests have as long as the source's `patienceWithCopy`, two seconds by default, and are then cancelled.
  /// A run of another process notices the pause within half of that time, or within a second. A complete region stays
  /// complete. Received tiles stay.
  ///
  /// - Throws: `BothyError` `unknownRegion`, or `unavailable` or `.diskFull` if the list can't be written.
  public func pause(_ id: Region.ID) async throws(BothyError) {
    _ = try await file.region(id)
    try await file.pause(id)
    guard let run = control(of: id) else { return }
    run.pause()
    await run.ended()
  }

  /// Deletes a region. Tiles that other regions or pins need stay pinned. All others count against the cache's limits
  /// from now on, and are evicted when it needs space. On a full disk as many bytes are evicted at once, those used
  /// longest ago first.
  ///
  /// Stops a run first. Costs a transaction for 512 tiles. If the process ends in between, or another process goes on
  /// loading the region, the next call of `all`, `create` or `delete` finishes the deletion.
  ///
  /// - Throws: `BothyError`: `unknownRegion`, or `regionBusy` after five seconds if another process still loads the
  ///   region. It is off the list by then.
  public func delete(_ id: Region.ID) async throws {
    await restored()
    // The region of an unfinished deletion is off the list already.
    if try await !file.deletings().contains(where: { $0.id == id }) {
      _ = try await file.region(id)
      try await cache.removing { try await file.markDeleting(id) }
    }
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
    for region in try await file.deletings() where try await !finishDeletion(of: region, attempts: 51) {
      throw BothyError(
        .regionBusy,
        "The region '\(region.name)' is off the list, but another process still loads it. End that process. The next "
          + "list, creation or deletion of regions then releases its tiles.")
    }
  }

  /// Finishes deletions that wait for no other process. The others are left for a later call.
  func finishFreeDeletions() async throws {
    for region in try await file.deletings() { _ = try await finishDeletion(of: region, attempts: 1) }
  }

  /// Returns false if another run has the region's lock at each attempt, a tenth of a second apart.
  private func finishDeletion(of region: Region, attempts: Int) async throws -> Bool {
    guard let lock = try await RegionLock.acquired(lockPath(region.id), attempts: attempts, on: cache) else {
      return false
    }
    defer { lock.release() }
    try await cache.dropStage(region.stage)
    try await cache.unpin(by: region.holder)
    try await cache.unpin(by: region.documentHolder)
    // A plan without a region counts as a region whose row is lost.
    removePlan(of: region.id)
    try await cache.removing { try await file.remove(region.id) }
    await cache.endRemoving()
    lock.remove()
    return true
  }

  private func run(_ id: Region.ID, isRefresh: Bool, removesGone: Bool = false) async throws -> Region {
    await restored()
    var region = try await file.region(id)
    let source = try allowing(region.plan)
    let (lock, control) = try await enter(id)
    defer {
      lock.release()
      leave(id, control)
    }
    // Changes between the first read and the lock count.
    region = try await file.region(id)
    if region.run.isFlipping { region = try await flipped(region) }
    region = try await settled(region)
    let now = cache.now
    if isRefresh {
      region = try await refreshing(region)
    } else {
      // If the clock was set back, stored tiles must not count as old forever.
      region.run.startedAt = min(region.run.startedAt, now)
    }
    region.run.removesGone = removesGone
    if !FileManager.default.fileExists(atPath: planFile(id).path) {
      // Without this copy, a region is recovered with the box around its tiles.
      try? region.plan.write(to: planFile(id))
    }
    try await file.begin(region, isNew: isRefresh)
    // A refresh that continues may have stopped before it knew the needs of the newer style.
    var readsStyle =
      region.plan.map != nil && (isRefresh || region.run.isRefresh && region.state != .complete)
    // A region that wasn't complete yet loads the style that it was made for.
    if !readsStyle, region.completedAt != nil { readsStyle = await isRestyled(region) }
    try await withThrowingTaskGroup(of: Void.self) { [region, readsStyle] group in
      group.addTask { await self.watch(id, control, source.limits.patienceWithCopy) }
      defer { group.cancelAll() }
      try await perform(region, control, source.freshness, readsStyle: readsStyle)
    }
    return await seen(try await file.region(id))
  }

  /// Ends the requests of a run that is paused or deleted, here or by another process, after some time.
  ///
  /// A server may hang, or send a large body slowly.
  private func watch(_ id: Region.ID, _ control: RegionControl, _ patience: Duration) async {
    var seenAt = cache.now
    while !control.isPaused {
      await control.wait(max(.seconds(1), patience / 2), of: cache)
      if Task.isCancelled { return }
      guard abs(cache.now - seenAt) >= 1000 else { continue }
      seenAt = cache.now
      // If the list can't be read, the run stops by itself.
      if (try? await file.isLoading(id)) == false { control.pause() }
    }
    // The wait ends when the run does.
    if (try? await cache.wait(patience)) != nil { control.callOff() }
  }

  /// Performs a run, and replaces the region's tiles by the staged ones if the server has answered for each.
  private func perform(
    _ planned: Region, _ control: RegionControl, _ freshness: FreshnessRule, readsStyle: Bool
  ) async throws {
    var region = planned
    var stop: RegionRun.Stop?
    var progress = region.progress
    var empty: [SourceID] = []
    do {
      if readsStyle { region = try await control.asking { [region] in try await self.withNewStyle(region) } }
      for _ in 0..<Self.generationAttempts {
        if case .replaced? = stop {
          region = try await refreshing(region)
          try await file.begin(region, isNew: true, unlessPaused: true)
        }
        var run = try RegionRun(region, cache, file, control, freshness)
        stop = try await run.perform()
        (progress, empty) = (run.progress, run.empty)
        if case .replaced? = stop { continue }
        guard stop == nil, run.unanswered == 0, try await hasNewMap(of: region) else { break }
        let isWhole = try await Self.flip(region, cache, file)
        try await Self.releaseSurplus(of: region, cache)
        // A tile that another region has replaced meanwhile is requested again.
        if isWhole { break }
      }
    } catch let error as BothyError where error.code != .cancelled && error.code != .unknownRegion {
      throw await interrupted(region, by: error, progress)
    } catch let error as BothyError where error.code == .cancelled && control.isPaused && !Task.isCancelled {
      // The requests for the style were called off.
      stop = .paused
    } catch {
      try await file.end(region.id, .interrupted, reason: nil, at: cache.now)
      throw error
    }
    switch stop {
    case .paused: break
    case .replaced: throw await interrupted(region, by: Self.replacedAgain, progress)
    case .interrupted(let error): throw await interrupted(region, by: error, progress)
    case nil:
      if progress.loaded > 0 { await keepDocument(of: region) }
      try await file.end(
        region.id, progress.failed == 0 ? .complete : .partial,
        reason: Self.reason(progress, empty, region.run.removesGone),
        at: cache.now)
      await cache.packDisk()
    }
  }

  /// Reads and pins the document of an archive on a server, which has the names and the attribution of its tiles.
  private func keepDocument(of region: Region) async {
    let source = region.plan.source
    guard region.plan.map == nil, cache.isInContainer(source) else { return }
    await cache.learnNames(of: source)
    // Without it only the names are missing, and exports send no request for them.
    try? await cache.pin([ResourceKey(source, path: TileArchiveInfo.documentPath)], by: region.documentHolder)
  }

  /// Records the end of a run, and returns its error.
  func interrupted(
    _ region: Region, by error: BothyError, _ progress: RegionProgress
  ) async -> BothyError {
    // On a full disk the state can't be written. A run without its lock counts as interrupted in any case.
    try? await file.end(region.id, .interrupted, reason: error.message, at: cache.now)
    return BothyError(
      error.code == .signInRequired ? .signInRequired : .interrupted,
      "Loading the region '\(region.name)' stopped after \(progress.done) of \(region.tiles) tiles; resume it to go "
        + "on. \(error.message)", underlying: error)
  }

  /// Continues the replacement of a region's tiles that was interrupted.
  private func flipped(_ region: Region) async throws -> Region {
    do { try await Self.flip(region, cache, file) } catch let error as BothyError {
      throw BothyError(
        .interrupted,
        "The new tiles of the region '\(region.name)' can't replace the old ones yet; resume it to go on. "
          + error.message, underlying: error)
    }
    try await file.finish(region.id, at: cache.now)
    return try await file.region(region.id)
  }

  private static func reason(
    _ progress: RegionProgress, _ empty: [SourceID], _ removesGone: Bool
  ) -> String? {
    guard progress.gone > 0 else {
      if progress.failed > 0 {
        return "\(progress.failed) of its \(progress.total) tiles failed. Resume it to try them again."
      }
      if empty.isEmpty { return nil }
      let names = empty.map { "'\($0)'" }.joined(separator: ", ")
      return
        "No tile of \(names) exists there, according to the server. If there should be some, check the source's "
        + "address and whether the network wants a sign-in, then refresh it."
    }
    if removesGone {
      return
        "The server says that \(progress.gone) of its \(progress.total) tiles are gone; they are kept, as others have "
        + "pinned them too."
    }
    return
      "The server says that \(progress.gone) of its \(progress.total) tiles are gone; they are kept. Refresh it with "
      + "removal to let them go."
  }
}
