/// The error of a storage that cannot be used for now. The request wasn't carried out, or may be sent again later with
/// equal operation ids.
///
/// Storages throw it for what may pass by itself. A full disk and damage are other errors.
public struct StorageUnavailable: Error, Sendable, CustomStringConvertible {
  /// The reason, in words that any client may read.
  ///
  /// The raw values are whole sentences.
  public enum Reason: String, Sendable, Hashable {
    /// A connection could not be made, or was lost.
    ///
    /// A write may have been committed before the loss. Send it again with its ids.
    case unreachable = "The database does not answer."
    /// The database is starting or stopping, or has just crashed.
    ///
    /// It passes by itself in most cases.
    case restarting = "The database is starting or stopping."
    /// The database was reached and accepts no changes, such as a standby.
    ///
    /// It lasts until the server's address names the database that does.
    case readOnly = "The database takes no changes."
    /// Other clients hold all the connections that it allows.
    ///
    /// Allow more there, or fewer to the servers.
    case crowded = "The database has no connection left."
    /// Other transactions interfered with every try. Or too many long reads wait already.
    ///
    /// Send the request again after a moment.
    case busy = "The database is busy."
    /// The storage of blobs can't be used, while the database can.
    ///
    /// Records still sync.
    case blobs = "The storage of blobs does not answer."
  }

  /// The reason of the failure. Over HTTP its words are sent with the status 503.
  public var reason: Reason
  /// The database's own message, for a log. It may name hosts and users.
  ///
  /// It is part of `description`, so don't send that to clients.
  public var detail: String

  /// Makes an error, for storages.
  ///
  /// - Parameter detail: for a log alone.
  public init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }

  /// The words of the reason and the detail, for a log.
  public var description: String { "\(reason.rawValue) \(detail)" }
}
