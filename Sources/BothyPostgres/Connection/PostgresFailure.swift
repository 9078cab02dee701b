package import BothyStore
package import BothySyncService

/// An error of PostgreSQL, of one that speaks its protocol, or of the connection to it.
package struct PostgresFailure: Error, Hashable, CustomStringConvertible {
  /// Five characters of PostgreSQL's appendix A (SQLSTATE); `nil` if the connection was lost or never made.
  package var code: String?
  package var message: String
  /// The function of the server that reported the error. It isn't translated, unlike the message.
  package var routine: String?

  package init(code: String? = nil, message: String, routine: String? = nil) {
    self.code = code
    self.message = message
    self.routine = routine
  }

  /// The failure of a call whose time is over.
  static let silence = PostgresFailure(message: "PostgreSQL gave no answer in time.")

  /// The failure of a session that others use too. No database has the code.
  package static let sharedSession = PostgresFailure(
    code: "BOTHY", message: "A session has the settings of another one, or not its own.")

  /// The failure of a commit that is visible, and that no standby may have. The code is that of a commit in doubt, so the
  /// next attempt finds it made, and commits after it.
  static let unreplicated = PostgresFailure(
    code: "40003", message: "A commit no longer waits for its synchronous standby, which may lack it.")

  /// True for the warning of a commit whose wait for a synchronous standby was cancelled. The message may be translated.
  package var isCancelledWait: Bool {
    routine == "SyncRepWaitForLSN" || code == "01000" && message.contains("wait for synchronous replication")
  }

  package var description: String { code.map { "\(message) (SQLSTATE \($0))" } ?? message }

  /// The remedy for an error.
  package enum Remedy: Sendable {
    /// The connection is useless. Make another one and repeat everything. A commit may have been made or not.
    case reconnect
    /// The transaction conflicted with another one. Repeat everything.
    case again
    /// The session doesn't have the statements that were prepared in it. Prepare them in another one, once, and repeat
    /// everything.
    case prepareAgain
    /// Repeating it gives an equal error.
    case none
  }

  /// The remedy, by the codes of PostgreSQL, Citus, YugabyteDB and CockroachDB.
  package var remedy: Remedy {
    if isOfStatementPool { return .none }
    guard let code else { return isRefusal ? .none : .reconnect }
    switch code {
    // Serialization failure, deadlock, or a lock or a statement that took too long.
    case "40001", "40P01", "55P03", "57014": return .again
    // CockroachDB doesn't know if a transaction was committed, or a commit didn't wait for its standby.
    case "40003": return .reconnect
    // A statement has another result since the tables changed.
    case "0A000": return isStalePlan ? .prepareAgain : .none
    // The session lacks a prepared statement, or has one of that name from another client of a pooler.
    case "26000", "42P05": return .prepareAgain
    // The server was shut down, crashed, is starting up, was idle for too long, has too many connections, or is a
    // standby after a failover.
    case "57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "25006", "53300": return .reconnect
    case "XX000": return isRelayedLoss ? .reconnect : .none
    default:
      if code.hasPrefix("08") { return .reconnect }
      return code.hasPrefix("58") && isRelayedLoss ? .reconnect : .none
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

  /// True if the database lacks the command, or a right to it, and so refuses it each time. Others, such as of a full
  /// queue of notifications, end.
  package var isLasting: Bool {
    remedy == .none && ["0A", "42"].contains { code?.hasPrefix($0) ?? false }
  }

  /// True for PgBouncer's refusal of a transaction, after which it closes the connection.
  private var isOfStatementPool: Bool { message.contains("statement pooling mode") }

  /// True if a pooler gives statements of one session to others.
  private var isOfPooler: Bool {
    isOfStatementPool || ["26000", "42P05", Self.sharedSession.code].contains(code)
  }

  private var isStalePlan: Bool {
    routine == "RevalidateCachedQuery" || message.contains("cached plan must not change result type")
  }

  /// True if a node of Citus reports its lost connection to another node. It often has the code of an internal error.
  private var isRelayedLoss: Bool {
    [
      "could not commit transaction for shard", "failure on connection marked as essential",
      "connection establishment for node", "could not establish any connections",
      "connection to the remote node", "server closed the connection", "connection not open",
      "could not connect", "could not receive data from server", "could not send data to server",
      "no connection to the server", "terminating connection", "the database system is", "Connection refused",
      "Connection reset", "connection has been closed", "lost connection to",
    ]
    .contains { message.contains($0) }
  }
}

/// The errors for callers outside of this module.
extension PostgresFailure {
  package var storeError: BothyError {
    switch code {
    case _ where isOfPooler:
      BothyError(
        .cannotOpen,
        "Settings and prepared statements don't stay in their session: \(message) A pooler mixes sessions. Let it pool sessions "
          + "(PgBouncer: pool_mode = session), or give the address of the database itself.",
        underlying: self)
    case nil: BothyError(.cannotOpen, "PostgreSQL refuses the connection. \(message)", underlying: self)
    case "53100": BothyError(.diskFull, "The database's disk is full: \(message)", underlying: self)
    case "22021":
      BothyError(.invalidValue, "PostgreSQL keeps no text with a zero byte. Leave it out.", underlying: self)
    case "42501":
      BothyError(
        .cannotOpen, "The database's user lacks a right: \(message) Grant it to the user.", underlying: self)
    case "22P02" where message.contains(StorageSQL.tablesMark):
      BothyError(
        .newerFile,
        "A newer server has changed the tables, and this one must no longer use them. Update the server. Nothing was "
          + "written.", underlying: self)
    case "0A000":
      BothyError(
        .database, "The database lacks something that the server needs: \(message) Use PostgreSQL or Citus.",
        underlying: self)
    default: BothyError(.database, "PostgreSQL refused a statement: \(self)", underlying: self)
    }
  }

  /// The reason why the storage could not do its work in time.
  package var unavailability: StorageUnavailable {
    let reason: StorageUnavailable.Reason =
      switch code {
      // While connecting, the server's answer is only a text.
      case nil where message.contains("the database system is"): .restarting
      case nil where message.contains("too many clients") || message.contains("connection slots"): .crowded
      case nil where message.contains("read-only"): .readOnly
      case nil: .unreachable
      case "57P01", "57P02", "57P03": .restarting
      case "25006": .readOnly
      case "53300": .crowded
      case "40001", "40003", "40P01", "55P03", "57014": .busy
      default: .unreachable
      }
    return StorageUnavailable(reason, "\(self)")
  }
}
