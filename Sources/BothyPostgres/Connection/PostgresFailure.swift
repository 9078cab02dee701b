import BothyStore
import BothySyncService

/// What PostgreSQL or the way to it answered in place of a result: its SQLSTATE, if it got so far, and its message.
struct PostgresFailure: Error, CustomStringConvertible {
  /// Five characters of PostgreSQL's appendix A; nil when the connection was lost or never made.
  var code: String?
  var message: String

  var description: String { code.map { "\(message) (SQLSTATE \($0))" } ?? message }

  /// What to do about it.
  enum Remedy {
    /// The connection is of no use any more: make another one and do the whole again.
    case reconnect
    /// The transaction was in the way of another one: do the whole again.
    case again
    /// Doing it again leads to the same.
    case none
  }

  var remedy: Remedy {
    guard let code else { return isRefusal ? .none : .reconnect }
    switch code {
    // Serialization failure, deadlock, a lock or a statement that took too long.
    case "40001", "40P01", "55P03", "57014": return .again
    // Shut down, crashed, starting up, idle for too long, too many connections, a standby after a failover; a plan or a
    // statement of a session that is no more, or of tables that have changed since.
    case "57P01", "57P02", "57P03", "57P05", "25P03", "25006", "53300", "26000", "0A000": return .reconnect
    default: return code.hasPrefix("08") ? .reconnect : .none
    }
  }

  /// Whether a connection was refused for good: a wrong password, an unknown user or database.
  private var isRefusal: Bool {
    code == nil
      && ["authentication failed", "does not exist", "no pg_hba.conf entry", "invalid connection option"]
        .contains { message.contains($0) }
  }

  /// As others see it.
  var storeError: StoreError {
    switch code {
    case nil: StoreError(.cannotOpen, "PostgreSQL refuses the connection. \(message)", underlying: self)
    case "53100": StoreError(.diskFull, "The database's disk is full: \(message)", underlying: self)
    case "22021":
      StoreError(.invalidValue, "PostgreSQL keeps no text with a zero byte. Leave it out.", underlying: self)
    case "42501":
      StoreError(
        .cannotOpen, "The database's user lacks a right: \(message) Grant it to the user.", underlying: self)
    default: StoreError(.database, "PostgreSQL refused a statement: \(self)", underlying: self)
    }
  }

  /// Why a ledger could not do its work in the time it had.
  var unavailability: LedgerUnavailable {
    let reason: LedgerUnavailable.Reason =
      switch code {
      // While connecting, the server's answer comes as text alone.
      case nil where message.contains("the database system is"): .restarting
      case nil where message.contains("too many clients") || message.contains("connection slots"): .crowded
      case nil where message.contains("read-only"): .readOnly
      case nil: .unreachable
      case "57P01", "57P02", "57P03": .restarting
      case "25006": .readOnly
      case "53300": .crowded
      case "40001", "40P01", "55P03", "57014": .busy
      default: .unreachable
      }
    return LedgerUnavailable(reason, "\(self)")
  }
}
