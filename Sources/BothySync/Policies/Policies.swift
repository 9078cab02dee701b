/// The source of the answer to a read. Under every policy the answer is the content of the local store after any
/// network result was merged, pending changes included.
public enum FetchPolicy: String, Sendable, Hashable, CaseIterable {
  /// Reads from the server. Without an answer the read throws.
  case networkOnly
  /// Reads from the server, or from the local store without an answer. The default.
  case networkElseCache
  /// Reads from the local store only.
  case cacheOnly
  /// Reads from the local store, or from the server if the local store has no result.
  case cacheElseNetwork
  /// Syncs the container first, in both directions, then reads from the local store, even if the sync failed.
  case syncThenCache
  /// Reads from the local store at once, and requests a sync from a running `SyncedStore.run()`. Observers receive its
  /// changes. Without `run()` nothing is requested.
  case cacheThenRefresh
}

/// The destination that a write reaches first.
public enum SavePolicy: String, Sendable, Hashable, CaseIterable {
  /// The server first, then the local store. Without an answer the change is stored locally and pending.
  case networkThenCache
  /// The server only. Without an answer the write throws and nothing is stored.
  case networkOnly
  /// The local store only, pending until the next sync.
  case cacheOnly
  /// The local store first, durably, then the server at once. The default.
  case cacheThenNetwork
}

/// The treatment of a change that the server rejects permanently. It never applies to throttling, or to a missing
/// network or token.
public enum RejectionPolicy: Sendable, Hashable {
  /// The change stays pending and is tried again at growing intervals. It is listed as rejected. The default.
  case keepPending
  /// After `after` rejections the change isn't sent again, until the app decides.
  case quarantine(after: Int)
  /// The change is undone, and the record takes the server's version.
  case discardAndRefetch
}

/// The choice between a local copy and none.
public enum CacheMode: String, Sendable, Hashable, CaseIterable {
  /// Records are stored in the file, and policies choose when reads use it. The default.
  case enabled
  /// Every read and every write uses the server, and nothing is stored on the device.
  case disabled
}

/// The treatment of a save that the local store cannot take, such as on a full disk or in a locked file.
public enum LocalFailurePolicy: String, Sendable, Hashable, CaseIterable {
  /// The save throws. The default.
  case throwError
  /// The save is tried on the server. The receipt states that it isn't stored on the device.
  case tryRemote
}

/// The answer of a read that doesn't use the server, if its condition has fields that only the server knows.
public enum UnevaluablePolicy: String, Sendable, Hashable, CaseIterable {
  /// The read throws `SyncError` `.notLocallyEvaluable`. The default.
  case throwError
  /// The answer is empty, from the cache and not complete.
  case empty
}

/// The directions of a sync.
public enum SyncScope: String, Sendable, Hashable, CaseIterable {
  /// Sends pending changes and pulls nothing.
  case push
  /// Pulls the server's changes and sends nothing.
  case pull
  /// Does both, in shared round trips.
  case both
}

/// The behavior of a sync that is requested while another runs.
public enum IfRunning: String, Sendable, Hashable, CaseIterable {
  /// Waits for that sync, or for its turn, and reports the results. The default.
  case join
  /// Returns at once, with `.alreadyRunning` in the report.
  case ignore
}

/// The options of one call that differ from the store's configuration. `nil` leaves the configuration's value.
public struct RequestOptions: Sendable, Hashable {
  /// The source of a read. Types that are not synced are always read from the local store.
  public var fetchPolicy: FetchPolicy?
  /// The destination that a write reaches first. Changes of server-only types are always sent to the server, and types
  /// that are not synced stay here.
  public var savePolicy: SavePolicy?
  /// False if results of the network aren't stored in the local store.
  public var cacheResults: Bool?
  /// True if a saved record isn't synced until it is released.
  public var isDraft: Bool
  /// True if a deletion of a record that isn't on this device is sent, in case the server has it.
  public var assumesRemote: Bool
  /// The longest time a read under `.syncThenCache` waits for its sync. The sync continues after that.
  public var timeout: Duration?

  /// Makes options that differ from the configuration in the given values.
  public init(
    fetchPolicy: FetchPolicy? = nil, savePolicy: SavePolicy? = nil, cacheResults: Bool? = nil,
    isDraft: Bool = false, assumesRemote: Bool = false, timeout: Duration? = nil
  ) {
    self.fetchPolicy = fetchPolicy
    self.savePolicy = savePolicy
    self.cacheResults = cacheResults
    self.isDraft = isDraft
    self.assumesRemote = assumesRemote
    self.timeout = timeout
  }
}
