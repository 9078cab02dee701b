/// A ledger cannot be used for now, and what was asked for was not done, or may be asked for again with the same
/// operation ids: later it goes on.
public struct LedgerUnavailable: Error, Sendable, CustomStringConvertible {
  /// Why, in words that may be told to anybody.
  public enum Reason: String, Sendable, Hashable {
    /// No connection could be made, or it was lost.
    case unreachable = "The database does not answer."
    /// It is starting or stopping, or has just crashed.
    case restarting = "The database is starting or stopping."
    /// It was reached and takes no changes: a standby, say.
    case readOnly = "The database takes no changes."
    /// Others hold all the connections that it allows.
    case crowded = "The database has no connection left."
    /// Others were in the way each time, for as long as it was tried.
    case busy = "The database is busy."
  }

  /// What kind of failure it is; over HTTP its words go out with the status 503.
  public var reason: Reason
  /// What the database said, for a log: it may name hosts and users.
  public var detail: String

  /// - Parameter detail: for a log alone.
  public init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }

  public var description: String { "\(reason.rawValue) \(detail)" }
}
