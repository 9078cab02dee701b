import BothyStore
public import BothySync

/// The two systems that Bothy replaces, each as one configuration.
extension SyncOptions {
  /// The behavior of the mobile SDK with a cache for apps of one backend. Reads and saves use the network first. A sync
  /// runs on request only and sends local changes only. The server wins if its record has changed since. Rejected
  /// changes stay pending. A sync that is requested while one runs does nothing. `SyncCallbacks` reports a sync in that
  /// SDK's form.
  ///
  /// In that SDK the cache is off by default; here `storesRecords` is true.
  public static var stackMob: SyncOptions {
    var configuration = SyncOptions()
    configuration.readPolicy = .remote
    configuration.writePolicy = .remoteThenLocal
    configuration.merging = MergePolicies(default: .remoteWins)
    configuration.rejectionPolicy = .keepPending
    configuration.direction = .push
    configuration.sendsLocalTimes = false
    configuration.triggers = []
    configuration.unevaluable = .empty
    configuration.ifRunning = .ignore
    return configuration
  }

  /// The behavior of the bridge between a local and a remote storage. Every read syncs its container first and reads
  /// from the local store. Every save is durable locally first and then sent. The server wins conflicts if its record
  /// is newer, and rejected changes are always undone. Containers with pending changes are synced every ten minutes.
  public static var ntiBridge: SyncOptions {
    var configuration = SyncOptions()
    configuration.readPolicy = .syncThenLocal
    configuration.writePolicy = .localThenRemote
    configuration.merging = MergePolicies(default: .remoteNewerWins)
    configuration.rejectionPolicy = .discardAndRefetch
    configuration.direction = .both
    configuration.triggers = .default
    return configuration
  }
}
