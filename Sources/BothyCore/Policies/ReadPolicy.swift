/// The source of a read's answer. The same policies serve records and downloads.
///
/// Under every policy a read of records returns the content of the local file, after any answer of the server was merged
/// into it. Pending changes are included.
///
/// ```swift
/// let huts = try await store.fetch(Hut.all, policy: .remoteElseLocal)
/// store.readPolicy = .localThenRemote  // for reads that name none
/// ```
public enum ReadPolicy: String, Sendable, Hashable, CaseIterable {
  /// The local copy, also if it is stale. Makes no request. The default for records.
  case local
  /// The local copy, or the remote copy if the local one is missing. The default for downloads, where a copy that is
  /// stale by HTTP's rules counts as missing.
  ///
  /// A stale download that may replace a failed response is returned at once and refreshed in the background, if it is
  /// pinned or the read is `visible`. A user therefore never sees a gap while a server hangs.
  case localElseRemote
  /// The local copy at once, and a refresh that observers see.
  ///
  /// For records it requests a sync from a running `SyncedStore.run()`, and nothing without one. For downloads `values`
  /// returns both copies and `value` the first.
  case localThenRemote
  /// The remote copy, or the local one if the server can't be reached.
  case remoteElseLocal
  /// The remote copy. Without an answer the read throws.
  case remote
  /// A sync of the container in both directions, then the local copy, even if the sync failed. For downloads it is
  /// `remoteElseLocal`.
  case syncThenLocal
}
