extension SyncedStore {
  /// The sync status. Reads memory.
  public var status: SyncStatus { engine.status }

  /// The present status, then each later one. A slow reader skips values.
  public var statuses: AsyncStream<SyncStatus> { engine.statuses.values(startingWith: engine.status) }

  /// The report of each sync that ends from now on, and of each save that went to the server first, in their order.
  ///
  /// A reader that lags behind gets all of them. Of one that lags by more than 100 reports, or by reports about more
  /// than 10,000 records, the oldest are left out, and `SyncReport.missed` of the next says how many.
  public var reports: AsyncStream<SyncReport> {
    let reader = engine.reports.reader()
    return AsyncStream { await reader.next()?.report }
  }
}
