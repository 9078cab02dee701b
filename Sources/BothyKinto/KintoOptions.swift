public import Logging

/// The options of a `KintoRemote`.
public struct KintoOptions: Sendable {
  /// The longest time for one request.
  public var timeout: Duration = .seconds(60)
  /// True if an address without TLS may be used that isn't on this machine.
  public var allowsHTTP = false
  /// The longest duration of a transaction on the server.
  ///
  /// A change may be committed this long after its timestamp, so pulls read this far back again. Kinto's memory backend
  /// does not need it.
  public var overlap: Duration = .seconds(10)
  /// The time without a pull after which a device starts over with a complete snapshot, or `nil` for never.
  ///
  /// The server's administrator may have purged tombstones, and Kinto does not report that. `nil` is safe only if
  /// tombstones are never purged.
  public var snapshotAfter: Duration? = .seconds(30 * 86_400)
  /// The interval at which `SyncedStore.run()` checks for changes of other devices, or `nil` for none.
  ///
  /// Kinto itself sends no notifications.
  public var pollInterval: Duration?
  /// The logger for the server's announcements of its end.
  public var logger = Logger(label: "bothy.kinto")

  /// Creates options: 60 seconds for a request, TLS except on this machine, and no checks for other devices' changes.
  public init() {}
}
