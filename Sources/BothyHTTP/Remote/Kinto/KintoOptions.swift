public import Logging

/// How to sign in to a Kinto server.
public enum KintoCredentials: Sendable {
  /// As nobody: for buckets that anybody may use.
  case none
  /// Kinto's accounts, or its plain basic authentication.
  case basic(user: String, password: String)
  /// A token of OpenID Connect or the like. The closure is asked again when the server answers 401.
  case bearer(@Sendable () async throws -> String?)
}

/// What may be set for a `KintoRemote`.
public struct KintoOptions: Sendable {
  /// How long one request may take.
  public var timeout: Duration = .seconds(60)
  /// Whether an address without TLS may be used that is not this machine's own.
  public var allowsHTTP = false
  /// How long a transaction of the server may last. A change may be committed that much after the moment its
  /// timestamp says; pulls read so far back again that none is missed. Kinto's memory backend needs none of it.
  public var overlap: Duration = .seconds(10)
  /// A device that has not pulled for longer starts over with a complete snapshot, because the server's administrator
  /// may have purged tombstones, of which Kinto tells nobody. Nil trusts that nobody does.
  public var snapshotAfter: Duration? = .seconds(30 * 86_400)
  /// How often `SyncedStore.run()` looks for others' changes: Kinto itself sends no hints. Nil does not look.
  public var pollInterval: Duration?
  /// Where the server's announcements of its end go.
  public var logger = Logger(label: "bothy.kinto")

  /// All as written above: 60 seconds for a request, TLS but for this machine, no looking for others' changes.
  public init() {}
}
