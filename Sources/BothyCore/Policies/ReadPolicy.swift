/// The source of a read's answer. The same policies serve records and downloads.
///
/// Under every policy a read of records returns the content of the local file, after any answer of the server was
/// merged into it. Pending changes are included.
///
/// ```swift
/// let huts = try await store.fetch(Hut.all, policy: .remoteElseLocal)
/// store.options.readPolicy = .localThenRemote  // for reads that name none
/// ```
public enum ReadPolicy: String, Sendable, Hashable, CaseIterable {
  /// The local copy, also if it is stale. Makes no request. The default for records.
  ///
  /// A query returns what the file has, which may be nothing. A download without a copy throws `BothyError`
  /// `.notCached`.
  case local
  /// The local copy, or the remote copy if the local one is missing. The default for downloads, where a copy that is
  /// stale by HTTP's rules counts as missing.
  ///
  /// For records an empty result counts as missing. The read throws `.unreachable` then if the server can't be reached.
  ///
  /// A stale download that may replace a failed response is returned at once and refreshed in the background, if it is
  /// pinned or the read is `visible`. A user therefore never sees a gap while a server hangs. Other reads wait for the
  /// response, for two seconds at most by default, and return the stale copy then.
  case localElseRemote
  /// The local copy at once, and a refresh that observers see.
  ///
  /// For records it requests a sync from a running `SyncedStore.run()`, and nothing without one. For downloads `values`
  /// returns both copies and `value` the first. A fresh download isn't refreshed. Without a copy a download waits for
  /// the request.
  case localThenRemote
  /// The remote copy, or the local one if the server can't be reached.
  ///
  /// Costs a round trip even if the local copy is fresh. For records it falls back without an answer, or if another
  /// server answers, and throws other errors. A download falls back after any failed request, or after two seconds by
  /// default, unless its server forbids to use a stale copy.
  case remoteElseLocal
  /// The remote copy. Without an answer the read throws.
  ///
  /// For records the error is `.unreachable`, or the one of the server. A download that its server or its source
  /// declares immutable is returned without a request while it is fresh.
  case remote
  /// A sync of the container in both directions, then the local copy, even if the sync failed. For downloads it is
  /// `remoteElseLocal`.
  ///
  /// The read waits until the sync ends, and throws only for a failure of the file. While `SyncedStore.run()` waits
  /// after a failure, the read starts no sync.
  case syncThenLocal
}
