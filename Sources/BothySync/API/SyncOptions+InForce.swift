public import BothyStore

extension SyncOptions {
  /// The options of an open store that the app changes: `store.options`.
  ///
  /// They begin with the values of the `SyncOptions` that the store was opened with. All may be set at any time and from
  /// any thread. The file keeps none of them, so set them again after a relaunch.
  ///
  /// ```swift
  /// store.options.network = .wifiOnly
  /// store.options.writePolicy = .local  // for writes that name none
  /// store.options.merging.set(.localWins, for: Booking.self)
  /// ```
  public struct InForce: Sendable {
    let synced: SyncedStore

    /// The read policy for reads that give none. Each read uses what it was when it began; setting it takes effect at
    /// once.
    public var readPolicy: ReadPolicy {
      get { synced.governor.readPolicy }
      nonmutating set { synced.governor.set(newValue) }
    }

    /// The write policy for writes that give none. Each write uses what it was when it began; setting it takes effect at
    /// once, and sends nothing that is pending.
    public var writePolicy: WritePolicy {
      get { synced.governor.writePolicy }
      nonmutating set { synced.governor.writePolicy = newValue }
    }

    /// The policies that decide conflicts. A sync or a save that is running continues with those it began with, and past
    /// decisions stay.
    ///
    /// A change of a part reads all and sets all: of two tasks that do so at once, one may lose its change.
    public var merging: MergePolicies {
      get { synced.governor.merging }
      nonmutating set { synced.governor.merging = newValue }
    }

    /// The networks, the power state and the types that syncs run with. A sync that is running and is not forced ends
    /// before its next request if it may not go on. What it did stays done, the rest stays pending.
    ///
    /// ```swift
    /// store.options.network = NetworkRules(.always, types: [Photo.self: .wifiOnly])
    /// ```
    ///
    /// Setting it makes a running `run()` look for something to do.
    public var network: NetworkRules {
      get { synced.governor.policy }
      nonmutating set {
        synced.governor.policy = newValue
        synced.engine.request()
      }
    }

    /// True if the app is in the foreground, as it says: set false when it enters the background. True at first.
    ///
    /// In the background the timer and polls rest; what came due meanwhile is done once the app is back. Its coming back
    /// is a trigger of its own, `SyncOptions.Triggers.foreground`. Notifications, saves and running syncs aren't held
    /// back.
    public var isForeground: Bool {
      get { synced.presence.isForeground }
      nonmutating set {
        let isBack = synced.presence.set(isForeground: newValue)
        // A `run()` that begins later has triggers for its start.
        if isBack && synced.engine.isLooping && synced.configuration.triggers.contains(.foreground) {
          synced.engine.request()
        }
      }
    }
  }
}

extension SyncedStore {
  /// The options that the app changes while the store is open. Making it reads nothing.
  public var options: SyncOptions.InForce { SyncOptions.InForce(synced: self) }
}
