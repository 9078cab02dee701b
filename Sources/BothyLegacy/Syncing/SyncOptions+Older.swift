public import BothySync

/// Choices of the two older systems that a new app leaves as they are.
extension SyncOptions {
  /// The read policy by the network, or `nil` for `readPolicy` always.
  ///
  /// It is called with true while the device has a network, with false while it has none, and with `nil` when the
  /// store is opened. `run()` applies it each time its monitor reports another of these. When a network has returned, a policy that reads from the server takes effect after the
  /// next completed sync. It replaces `readPolicy` of these options.
  public var readPolicyByNetwork: (@Sendable (Bool?) -> ReadPolicy)? {
    get { readPolicyProvider }
    set { readPolicyProvider = newValue }
  }

  /// True if reads use this device alone until the first sync has completed, under a policy that reads from
  /// the server.
  ///
  /// These policies are `.remote`, `.remoteElseLocal` and `.localElseRemote`. By default they apply at once.
  /// It counts from each opening of the store. A read that names a policy isn't affected, and setting
  /// `store.options.readPolicy` ends it.
  public var readsLocallyUntilSynced: Bool {
    get { startup == .syncThenNetwork }
    set { startup = newValue ? .syncThenNetwork : .immediate }
  }

  /// False if no records are stored on this device. The default is true.
  ///
  /// Then each save and fetch is a request, and a call that needs the local store throws `BothyError`
  /// `cacheDisabled`. Types that aren't synced are stored all the same.
  public var storesRecords: Bool {
    get { cache == .enabled }
    set { cache = newValue ? .enabled : .disabled }
  }

  /// True if a save that the local store can't take, as on a full disk, is sent to the server all the same.
  ///
  /// By default it throws. The save costs three round trips at most. If the server decides nothing, the
  /// store's failure is thrown. Transactions, drafts and types that aren't synced are never sent this way.
  public var sendsWhatIsNotStored: Bool {
    get { localFailure == .tryRemote }
    set { localFailure = newValue ? .tryRemote : .throwError }
  }

  /// True if a sync that is requested while one runs returns at once, with the obstacle `.cancelled`.
  ///
  /// By default it waits for its turn and reports the results. Syncs that are part of a read or a save always
  /// wait.
  public var ignoresRepeatedSyncs: Bool {
    get { ifRunning == .ignore }
    set { ifRunning = newValue ? .ignore : .join }
  }

  /// True if a read that only the server can evaluate finds nothing where the server isn't used.
  ///
  /// By default it throws `BothyError` `notLocallyEvaluable`. The empty result has `isComplete` false. Such a
  /// read has a condition on a field that this schema doesn't declare.
  public var answersUnevaluableWithNothing: Bool {
    get { unevaluable == .empty }
    set { unevaluable = newValue ? .empty : .throwError }
  }

  /// True if an empty result that is known to be complete keeps `.localElseRemote` from reading from the
  /// server.
  ///
  /// False by default, so each read of an empty result costs a round trip. A result is complete if its
  /// container was pulled or the server has answered the query.
  public var trustsCompleteResults: Bool {
    get { trustsCompleteness }
    set { trustsCompleteness = newValue }
  }

  /// The longest time that a read under `.syncThenLocal` waits for its sync, which continues after that.
  ///
  /// With `nil`, the default, it waits until the sync ends. A read that waited for this long returns the
  /// local records, with the origin `.local`.
  public var longestSyncBeforeRead: Duration? {
    get { readTimeout }
    set { readTimeout = newValue }
  }

  /// The rejection policies by the names of types. They take precedence over `rejectionPolicy`.
  ///
  /// Empty by default. A name that the schema doesn't declare has no effect.
  public var rejectionPoliciesByType: [String: RejectionPolicy] {
    get { rejectionPolicies }
    set { rejectionPolicies = newValue }
  }

  /// True if a live change in a container without a subscription is stored. Otherwise it is ignored.
  ///
  /// False by default. Then a record that such a change moves out of the subscriptions is removed from this
  /// device. It concerns `applyLive(_:operation:)` alone.
  public var storesChangesOfAllContainers: Bool {
    get { storesUnfollowedChanges }
    set { storesUnfollowedChanges = newValue }
  }

  /// True if operations carry the time of the edit, which is the default.
  ///
  /// With false the server dates each change when it receives it, so that of two edits the later sent one is
  /// the later. Saves that are sent before they are stored carry no time in any case.
  public var sendsEditTimes: Bool {
    get { sendsLocalTimes }
    set { sendsLocalTimes = newValue }
  }
}
