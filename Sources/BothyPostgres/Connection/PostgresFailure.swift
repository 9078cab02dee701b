import BothyStore
import BothySyncService

/// An error of PostgreSQL or of the connection to it: the SQLSTATE, if it has one, and the message.
struct PostgresFailure: Error, CustomStringConvertible {
  /// Five characters of PostgreSQL's appendix A; `nil` if the connection was lost or never made.
  var code: String?
  var message: String

  var description: String { code.map { "\(message) (SQLSTATE \($0))" } ?? message }

  /// The remedy for an error.
  enum Remedy {
    /// The connection is useless. Make another one and repeat everything.
    case reconnect
    /// The transaction conflicted with another one. Repeat everything.
    case again
    /// Repeating it gives an equal error.
    case none
  }

  var remedy: Remedy {
    guard let code else { return isRefusal ? .none : .reconnect }
    switch code {
    // Serialization failure, deadlock, or a lock or a statement that took too long.
    case "40001", "40P01", "55P03", "57014": return .again
    // The server was shut down, crashed, is starting up, was idle for too long, has too many connections, or is a
    // standby after a failover. Or a plan or statement belongs to a session that has ended, or to tables that have
    // changed since.
    case "57P01", "57P02", "57P03", "57P05", "25P03", "25006", "53300", "26000", "0A000": return .reconnect
    default: return code.hasPrefix("08") ? .reconnect : .none
    }
  }

  /// True if a connection was refused permanently, such as for a wrong password, an unknown user or an unknown
  /// database.
  private var isRefusal: Bool {
    code == nil
      && [
        "authentication failed", "does not exist", "no pg_hba.conf entry", "invalid connection option",
        "invalid URI query parameter",
      ]
      .contains { message.contains($0) }
  }

  /// The error for callers outside of this module.
  var storeError: BothyError {
    switch code {
    case nil: BothyError(.cannotOpen, "PostgreSQL refuses the connection. \(message)", underlying: self)
    case "53100": BothyError(.diskFull, "The database's disk is full: \(message)", underlying: self)
    case "22021":
      BothyError(.invalidValue, "PostgreSQL keeps no text with a zero byte. Leave it out.", underlying: self)
    case "42501":
      BothyError(
        .cannotOpen, "The database's user lacks a right: \(message) Grant it to the user.", underlying: self)
    default: BothyError(.database, "PostgreSQL refused a statement: \(self)", underlying: self)
    }
  }

  /// The reason why the storage could not do its work in time.
  var unavailability: LedgerUnavailable {
    let reason: LedgerUnavailable.Reason =
      switch code {
      // While connecting, the server's answer is only a text.
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
