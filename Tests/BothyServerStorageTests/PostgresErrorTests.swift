import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Testing

/// The responses to errors of PostgreSQL: another attempt, or an error at once.
@Suite("Errors of PostgreSQL", .timeLimit(.minutes(5)))
struct PostgresErrorTests {
  @Test(
    "A write that fails because of others is repeated until it succeeds",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint),
    arguments: ["40001", "40P01", "55P03", "57014"])
  func conflict(code: String) async throws {
    let inserts = try await FailingInserts(code, count: 2)
    defer { inserts.storage.close() }
    try await inserts.checkThird()
  }

  @Test(
    "A write that PostgreSQL refuses is tried once",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint), arguments: ["23514", "42501", "0A000"])
  func refusal(code: String) async throws {
    let inserts = try await FailingInserts(code, count: 2)
    defer { inserts.storage.close() }
    let error = await #expect(throws: BothyError.self) { try await inserts.write() }
    let expected: BothyError.Code = code == "42501" ? .cannotOpen : .database
    #expect(error?.code == expected)
    #expect(try inserts.attempts() == "1")
    #expect(try await inserts.storage.read(space: "s") { $0.head } == 0)
  }

  @Test(
    "A transaction in doubt is made once",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func doubt() async throws {
    let inserts = try await FailingInserts("40003", count: 2, atCommit: true)
    defer { inserts.storage.close() }
    try await inserts.checkThird()
  }

  @Test(
    "Statements are prepared once more, and then refused with the remedy",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint), arguments: ["26000", "42P05"])
  func prepared(code: String) async throws {
    let once = try await FailingInserts(code, count: 1)
    defer { once.storage.close() }
    try await once.write()
    #expect(try once.attempts() == "2")
    let always = try await FailingInserts(code, count: 9)
    defer { always.storage.close() }
    let error = await #expect(throws: BothyError.self) { try await always.write() }
    #expect(error?.code == .cannotOpen && error.map { "\($0)".contains("pool_mode") } ?? false)
    #expect(try always.attempts() == "2")
  }

  @Test(
    "A connection with an unknown database or user is refused at once",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint), arguments: ["dbname=none", "user=nobody"])
  func refusedConnection(part: String) async throws {
    #expect(await code(of: "\(RealPostgres.url ?? "")?\(part)") == .cannotOpen)
  }

  @Test(
    "A session that another one has used is refused with the remedy",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func sharedSession() async throws {
    // As PgBouncer lends it, in another mode than that of sessions.
    let url = RealPostgres.url ?? ""
    let lent = url + (url.contains("?") ? "&" : "?") + "options=-c%20bothy.session%3Dtaken"
    let error = await #expect(throws: BothyError.self) {
      try await PostgresServerStorage.open(lent, configuration: RealPostgres.configuration()).close()
    }
    #expect(error?.code == .cannotOpen && error.map { "\($0)".contains("pool_mode = session") } ?? false)
  }

  @Test(
    "A pooler that lends the first session again is refused at the start",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func sharedLater() async throws {
    let url = RealPostgres.url ?? ""
    let role = RealPostgres.newSchema()
    _ = try PostgresCatalogue.rows(url, "CREATE ROLE \(role) LOGIN SUPERUSER")
    var configuration = RealPostgres.configuration()
    configuration.trace = { sql in
      // The first session is about to answer its last statement of the start.
      guard sql == "SELECT identity FROM server" else { return }
      do {
        _ = try PostgresCatalogue.rows(url, "ALTER ROLE \(role) SET bothy.session TO 'taken'")
      } catch { Issue.record(error) }
    }
    let pooled = configuration
    let error = await #expect(throws: BothyError.self) {
      try await PostgresServerStorage.open("\(url)?user=\(role)", configuration: pooled).close()
    }
    #expect(error?.code == .cannotOpen && error.map { "\($0)".contains("pool_mode = session") } ?? false)
    _ = try PostgresCatalogue.rows(url, "DROP OWNED BY \(role) CASCADE")
    _ = try PostgresCatalogue.rows(url, "DROP ROLE \(role)")
  }

  @Test(
    "News that get no connection are reported, and come once they have one",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func newsWithoutConnection() async throws {
    let url = RealPostgres.url ?? ""
    let role = RealPostgres.newSchema()
    _ = try PostgresCatalogue.rows(url, "CREATE ROLE \(role) LOGIN SUPERUSER")
    let storage = try await PostgresServerStorage.open(
      "\(url)?user=\(role)", configuration: RealPostgres.configuration())
    try await storage.write(space: "s") { try $0.put([ServerStorageConformance.entry(1, "a")]) }
    _ = try PostgresCatalogue.rows(url, "ALTER ROLE \(role) SET bothy.session TO 'taken'")
    let (reports, reporting) = AsyncStream.makeStream(of: String.self)
    let (spaces, hearing) = AsyncStream.makeStream(of: String.self)
    storage.passNews(of: { ["s"] }, to: { hearing.yield($0) }) { reporting.yield($0) }
    for await report in reports {
      #expect(report.contains("no connection") && !storage.looksForNews, "\(report)")
      break
    }
    _ = try PostgresCatalogue.rows(url, "ALTER ROLE \(role) RESET bothy.session")
    for await space in spaces {
      #expect(space == "s")
      break
    }
    storage.close()
  }

  @Test("An address with an unknown option is refused at once")
  func unknownOption() async throws {
    #expect(await code(of: "host=127.0.0.1 unknown=1") == .cannotOpen)
    #expect(await code(of: "postgresql://127.0.0.1/hut?unknown=1") == .cannotOpen)
  }

  /// Returns the code of the error for an address. A repeated connection ends with another error, `StorageUnavailable`.
  private func code(of address: String) async -> BothyError.Code? {
    let error = await #expect(throws: BothyError.self) {
      try await PostgresServerStorage.open(address, configuration: RealPostgres.configuration()).close()
    }
    return error?.code
  }
}

/// A storage in which the first inserts of records fail with an error that PostgreSQL raises.
private struct FailingInserts {
  let storage: PostgresServerStorage
  private let schema = RealPostgres.newSchema()

  /// Opens the storage. `code` is the SQLSTATE of the first `count` inserts, or of their commits.
  init(_ code: String, count: Int, atCommit: Bool = false) async throws {
    storage = try await RealPostgres.open(schema)
    // A rollback leaves a sequence as it is, so it counts the attempts.
    _ = try PostgresCatalogue.rows(RealPostgres.url ?? "", "CREATE SEQUENCE \(schema).attempts")
    _ = try PostgresCatalogue.rows(
      RealPostgres.url ?? "",
      """
      CREATE FUNCTION \(schema).stumble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('\(schema).attempts') <= \(count) THEN
          RAISE EXCEPTION 'This is made for a test.' USING ERRCODE = '\(code)';
        END IF;
        RETURN NEW;
      END $$
      """)
    _ = try PostgresCatalogue.rows(
      RealPostgres.url ?? "",
      """
      CREATE \(atCommit ? "CONSTRAINT TRIGGER stumble AFTER" : "TRIGGER stumble BEFORE") INSERT
      ON \(schema).record \(atCommit ? "DEFERRABLE INITIALLY DEFERRED" : "")
      FOR EACH ROW EXECUTE FUNCTION \(schema).stumble()
      """)
  }

  func write() async throws {
    try await storage.write(space: "s") { try $0.put([ServerStorageConformance.entry($0.head + 1, "a")]) }
  }

  /// Checks that the third attempt to insert a record succeeds, and that there is one record then.
  func checkThird() async throws {
    try await write()
    let found = try await storage.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 9) }
    #expect(found == [ServerStorageConformance.entry(1, "a")])
    #expect(try attempts() == "3")
  }

  /// Returns the number of attempts to insert a record.
  func attempts() throws -> String? {
    try PostgresCatalogue.rows(RealPostgres.url ?? "", "SELECT last_value::text FROM \(schema).attempts")
      .first?.first
  }
}
