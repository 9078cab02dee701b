/// Where an answer to a read comes from. Whatever the policy, the answer is what the local store holds after any
/// network result was merged, pending changes included.
public enum FetchPolicy: String, Sendable, Hashable, CaseIterable {
  /// The server is asked; without an answer the read throws.
  case networkOnly
  /// The server is asked; without an answer the local store answers. The default.
  case networkElseCache
  /// The server is not asked.
  case cacheOnly
  /// The local store answers; if it has nothing, the server is asked.
  case cacheElseNetwork
  /// The container is synced first, both ways; then the local store answers, whether that worked or not.
  case syncThenCache
  /// The local store answers at once, and a running `SyncedStore.run()` is asked for a sync; observers see what it
  /// brings. Without `run()` nothing is asked.
  case cacheThenRefresh
}

/// Where a write goes first.
public enum SavePolicy: String, Sendable, Hashable, CaseIterable {
  /// The server first, then the local store; without an answer the change is kept locally and pending.
  case networkThenCache
  /// The server only; without an answer the write throws and nothing is kept.
  case networkOnly
  /// The local store only, pending until the next sync.
  case cacheOnly
  /// The local store first, durably, then the server at once. The default.
  case cacheThenNetwork
}

/// What becomes of a change that the server refuses for good. Never applied to a lack of network, of a valid
/// token, or to throttling.
public enum RejectionPolicy: Sendable, Hashable {
  /// It stays pending and is tried again, ever more rarely; it shows in the inbox. The default.
  case keepPending
  /// After so many refusals it is not sent any more, until somebody decides.
  case quarantine(after: Int)
  /// It is undone: the record becomes what the server has.
  case discardAndRefetch
}

/// Whether there is a local copy at all.
public enum CacheMode: String, Sendable, Hashable, CaseIterable {
  /// Records are kept in the file, and policies say when it answers. The default.
  case enabled
  /// Every read and every write goes to the server, and nothing is kept here.
  case disabled
}

/// What becomes of a save that the local store cannot take: a full disk, a locked file.
public enum LocalFailurePolicy: String, Sendable, Hashable, CaseIterable {
  /// It throws. The default.
  case throwError
  /// It is tried on the server all the same; the receipt says that it is not stored here.
  case tryRemote
}

/// What a read gives whose condition names fields that only the server knows, when the server is not asked.
public enum UnevaluablePolicy: String, Sendable, Hashable, CaseIterable {
  /// `SyncError` `.notLocallyEvaluable`. The default.
  case throwError
  /// An empty answer, from the cache and not complete.
  case empty
}

/// Which way a sync goes.
public enum SyncScope: String, Sendable, Hashable, CaseIterable {
  /// What is pending goes to the server; nothing is pulled.
  case push
  /// What changed on the server is brought; nothing is sent.
  case pull
  /// Both, in the same round trips.
  case both
}

/// What a sync does that is asked for while another is running.
public enum IfRunning: String, Sendable, Hashable, CaseIterable {
  /// Waits for that one, or for its turn, and reports what was done. The default.
  case join
  /// Does nothing, at once: the report says `.alreadyRunning`.
  case ignore
}

/// What one call does otherwise than the store's configuration says; nil leaves the configuration's value.
public struct RequestOptions: Sendable, Hashable {
  /// Where a read gets its answer from. Types that are not synced are read here, whatever it says.
  public var fetchPolicy: FetchPolicy?
  /// Where a write goes first. Types that are written on the server only go there, types that are not synced stay here.
  public var savePolicy: SavePolicy?
  /// False keeps what the network brings out of the local store.
  public var cacheResults: Bool?
  /// Keeps a saved record back from syncing until it is released.
  public var isDraft: Bool
  /// Whether a deletion of a record that is not on this device is sent, in case the server has it.
  public var assumesRemote: Bool
  /// How long a read under `.syncThenCache` waits for its sync; the sync goes on after that.
  public var timeout: Duration?

  /// As configured, with what is given here instead.
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
