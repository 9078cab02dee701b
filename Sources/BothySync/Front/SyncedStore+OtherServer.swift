import BothyStore

/// Ways out when a sync ended with `SkipReason.otherServer`.
extension SyncedStore {
  /// The server, space and history that the file was synced with; nil before the first sync, and with servers that have
  /// no identity. One read.
  public func serverHistory() throws -> ServerHistory? {
    try store.read { try ServerBinding.load(in: $0).history }
  }

  /// Gives up the server or history that the file was synced with, and takes what the present one has: records that came
  /// from the first one and that this one lacks go, and are in `SyncReport.lost`. What is pending stays, and is sent.
  ///
  /// For after `SkipReason.otherServer`. To keep both apart, open another file instead. A sync that can't be finished
  /// now is the matter of the next one. Throws `StoreError`.
  @discardableResult
  public func adoptServer() async throws -> SyncReport {
    try await store.write(origin: .remote) { try ServerBinding.adoptNext(in: $0) }
    return await sync(.both, forced: true)
  }
}
