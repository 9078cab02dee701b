public import BothySync

/// Choices of the two older systems that a new app leaves as they are.
extension SyncOptions {
  /// The read policy by the network's status, or `nil` for `readPolicy` always. `run()` applies it each time its monitor
  /// reports another status.
  public var readPolicyByNetwork: (@Sendable (NetworkStatus) -> ReadPolicy)? {
    get { readPolicyProvider }
    set { readPolicyProvider = newValue }
  }

  /// True if reads use this device alone until the first sync has completed, whatever the read policy. By default they
  /// follow the policy at once.
  public var readsLocallyUntilSynced: Bool {
    get { startup == .syncThenNetwork }
    set { startup = newValue ? .syncThenNetwork : .immediate }
  }

  /// False if no records are stored on this device. Then each save and fetch is a request, and a call that needs the
  /// local store throws `BothyError`.
  public var storesRecords: Bool {
    get { cache == .enabled }
    set { cache = newValue ? .enabled : .disabled }
  }

  /// True if a save that the local store can't take, as on a full disk, is sent to the server all the same. By default
  /// it throws.
  public var sendsWhatIsNotStored: Bool {
    get { localFailure == .tryRemote }
    set { localFailure = newValue ? .tryRemote : .throwError }
  }

  /// True if a sync that is requested while one runs returns at once, with the obstacle `.cancelled`. By default it
  /// waits for its turn and reports the results.
  public var ignoresRepeatedSyncs: Bool {
    get { ifRunning == .ignore }
    set { ifRunning = newValue ? .ignore : .join }
  }

  /// True if a read that only the server can evaluate finds nothing where the server isn't used. By default it throws
  /// `BothyError`.
  public var answersUnevaluableWithNothing: Bool {
    get { unevaluable == .empty }
    set { unevaluable = newValue ? .empty : .throwError }
  }

  /// True if an empty result that is known to be complete keeps `.localElseRemote` from reading from the server.
  public var trustsCompleteResults: Bool {
    get { trustsCompleteness }
    set { trustsCompleteness = newValue }
  }

  /// The longest time that a read under `.syncThenLocal` waits for its sync, which continues after that. With `nil` it
  /// waits until the sync ends.
  public var longestSyncBeforeRead: Duration? {
    get { readTimeout }
    set { readTimeout = newValue }
  }

  /// The rejection policies by the names of types. They take precedence over `rejectionPolicy`.
  public var rejectionPoliciesByType: [String: RejectionPolicy] {
    get { rejectionPolicies }
    set { rejectionPolicies = newValue }
  }

  /// True if a live change in a container without a subscription is stored. Otherwise it is ignored.
  public var storesChangesOfAllContainers: Bool {
    get { storesUnfollowedChanges }
    set { storesUnfollowedChanges = newValue }
  }

  /// True if operations carry the time of the edit, which is the default.
  public var sendsEditTimes: Bool {
    get { sendsLocalTimes }
    set { sendsLocalTimes = newValue }
  }
}
