import Synchronization

/// The check of pinned entries after a process was killed while it used the cache, and every month.
extension ResourceCache {
  /// The maximum number of bytes that the check reads in a second.
  private static let checkedInSecond: Int64 = 8 << 20

  /// Begins to read the pinned entries in the background if that is due. Damaged ones are removed and reported as events.
  ///
  /// A region that has lost tiles so is damaged. The check ends with the cache, and the next opening continues it.
  func beginCheck() {
    guard let disk, disk.store.isCheckDue(at: clock.wall()) else { return }
    let work = Task(priority: .background) { [weak self, clock] in
      // If the disk fails, the next opening continues.
      while !Task.isCancelled, self != nil,
        let bytes = try? await disk.copy({ try $0.checkNext(at: clock.wall()) })
      {
        // The sleep is cancelled when the cache is closed.
        try? await clock.sleep(.milliseconds(10 + bytes * 1000 / Self.checkedInSecond))
      }
    }
    state.withLock { $0.check = work }
  }

  /// Waits for the end of the check, if it has begun.
  package func checked() async {
    if let check = state.withLock({ $0.check }) { await check.value }
  }
}
