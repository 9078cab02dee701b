/// A ledger cannot be used for now, and what was asked for was not done, or may be asked for again with the same
/// operation ids: later it goes on.
public struct LedgerUnavailable: Error, Sendable, CustomStringConvertible {
  /// Why, in words that may be told to anybody.
  public enum Reason: String, Sendable, Hashable {
    case unreachable = "The database does not answer."
    case restarting = "The database is starting or stopping."
    case readOnly = "The database takes no changes."
    case crowded = "The database has no connection left."
    case busy = "The database is busy."
  }

  public var reason: Reason
  /// What the database said, for a log: it may name hosts and users.
  public var detail: String

  public init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }

  public var description: String { "\(reason.rawValue) \(detail)" }
}
