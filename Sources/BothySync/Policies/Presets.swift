/// The two systems that Bothy replaces, each as one configuration.
extension SyncConfiguration {
  /// The behaviour of the mobile SDK that cached for apps of one backend: network first, for reads and saves; a sync
  /// only when asked for, of local changes only; the server wins where it has changed since; what is refused stays
  /// pending; a sync asked for while one is running does nothing. `SyncCallbacks` tells of a sync as it did.
  ///
  /// There the cache had to be switched on first; here `cache` is `.enabled`.
  public static var stackMob: SyncConfiguration {
    var configuration = SyncConfiguration()
    configuration.fetchPolicy = .networkOnly
    configuration.savePolicy = .networkThenCache
    configuration.mergePolicies = MergePolicies(.serverModifiedWins)
    configuration.rejectionPolicy = .keepPending
    configuration.scope = .push
    configuration.sendsLocalTimes = false
    configuration.triggers = []
    configuration.unevaluable = .empty
    configuration.ifRunning = .ignore
    return configuration
  }

  /// The behaviour of the bridge between a local and a remote storage: every read syncs its container first and
  /// answers from here; every save is durable here first and then sent; the server is right, in conflicts if its
  /// record is newer and in refusals always; containers with pending work are synced every ten minutes.
  public static var ntiBridge: SyncConfiguration {
    var configuration = SyncConfiguration()
    configuration.fetchPolicy = .syncThenCache
    configuration.savePolicy = .cacheThenNetwork
    configuration.mergePolicies = MergePolicies(.remoteNewerWins)
    configuration.rejectionPolicy = .discardAndRefetch
    configuration.scope = .both
    configuration.triggers = .default
    return configuration
  }
}
