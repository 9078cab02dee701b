import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("The remedies for errors of PostgreSQL", .timeLimit(.minutes(5)))
struct PostgresFailureTests {
  private struct Case {
    let remedy: PostgresFailure.Remedy
    let code: String?
    let message: String
    let routine: String?

    init(
      _ remedy: PostgresFailure.Remedy, _ code: String?, _ message: String = "made for a test",
      routine: String? = nil
    ) {
      (self.remedy, self.code, self.message, self.routine) = (remedy, code, message, routine)
    }
  }

  private static let cases: [Case] = [
    Case(.reconnect, nil, "server closed the connection unexpectedly"),
    Case(.none, nil, "password authentication failed for user \"a\""),
    Case(.none, nil, "database \"a\" does not exist"),
    // Conflicts with others.
    Case(.again, "40001"), Case(.again, "40P01"), Case(.again, "55P03"), Case(.again, "57014"),
    // A commit in doubt.
    Case(.reconnect, "40003", "result is ambiguous"), Case(.reconnect, "08007"), Case(.reconnect, "08006"),
    // The end of the session, or a server that takes no changes.
    Case(.reconnect, "57P01"), Case(.reconnect, "57P02"), Case(.reconnect, "57P03"),
    Case(.reconnect, "57P05"), Case(.reconnect, "25P03"), Case(.reconnect, "25P04"),
    Case(.reconnect, "25006"), Case(.reconnect, "53300"),
    // PgBouncer refuses a transaction and ends the session.
    Case(.none, "08P01", "transaction blocks not allowed in statement pooling mode"),
    Case(.none, nil, "transaction blocks not allowed in statement pooling mode"),
    // Prepared statements.
    Case(.prepareAgain, "26000"), Case(.prepareAgain, "42P05"),
    Case(.prepareAgain, "0A000", "cached plan must not change result type"),
    Case(.prepareAgain, "0A000", "in another language", routine: "RevalidateCachedQuery"),
    // Commands and features that the database lacks.
    Case(.none, "0A000", "LISTEN not supported yet"), Case(.none, "42883"), Case(.none, "42601"),
    // Connections between the nodes of Citus.
    Case(.reconnect, "XX000", "server closed the connection unexpectedly"),
    Case(.reconnect, "XX000", "could not commit transaction for shard 7 on at least one active node"),
    Case(.reconnect, "XX000", "connection to the remote node 10.0.0.1:5432 failed"),
    Case(.reconnect, "58000", "terminating connection due to administrator command"),
    Case(.none, "58030", "could not read file"), Case(.none, "XX000", "cache lookup failed"),
    // Errors of the statement itself.
    Case(.none, "22P02", "the tables of bothy need a server that knows 14"),
    Case(.none, "23505"), Case(.none, "42501"), Case(.none, "22021"), Case(.none, "53100"),
  ]

  @Test("Each code has its remedy")
  func table() {
    for entry in Self.cases {
      let failure = PostgresFailure(code: entry.code, message: entry.message, routine: entry.routine)
      #expect(failure.remedy == entry.remedy, "\(failure)")
    }
  }

  @Test(
    "Only a command that the database lacks is never tried again",
    arguments: [
      ("0A000", true), ("42601", true), ("42883", true), ("42501", true), ("54000", false), ("53100", false),
      ("XX000", false), ("57014", false), ("57P01", false), ("26000", false),
    ])
  func lasting(code: String, isLasting: Bool) {
    #expect(PostgresFailure(code: code, message: "LISTEN not supported yet").isLasting == isLasting)
    #expect(!PostgresFailure(code: nil, message: "password authentication failed").isLasting)
  }

  @Test("The warning of a cancelled wait for a standby is known in every language")
  func cancelledWait() {
    let message = "canceling wait for synchronous replication due to user request"
    #expect(PostgresFailure(code: "01000", message: message).isCancelledWait)
    #expect(
      PostgresFailure(code: "01000", message: "in another language", routine: "SyncRepWaitForLSN")
        .isCancelledWait)
    #expect(!PostgresFailure(code: "01000", message: "made for a test").isCancelledWait)
    #expect(!PostgresFailure(code: "42P07", message: "a table exists, skipping").isCancelledWait)
  }

  @Test("An error names what helps")
  func words() {
    for (code, message) in [
      ("42P05", "prepared statement exists"), ("08P01", "not allowed in statement pooling mode"),
    ] {
      let pooled = PostgresFailure(code: code, message: message).storeError
      #expect(pooled.code == .cannotOpen && "\(pooled)".contains("pool_mode = session"))
    }
    let lacking = PostgresFailure(code: "0A000", message: "not implemented").storeError
    #expect("\(lacking)".contains("not implemented"))
    #expect(PostgresFailure(code: "53100", message: "no space left").storeError.code == .diskFull)
    #expect(PostgresFailure(code: "57P03", message: "starting up").unavailability.reason == .restarting)
    #expect(PostgresFailure(code: "55P03", message: "lock").unavailability.reason == .busy)
  }
}
