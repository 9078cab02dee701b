import BothyStore

/// The tables of a storage in PostgreSQL, and the steps from an older form to this one.
///
/// The key and each index of every table begin with the space, except for the one row of `server` and the index of due
/// spaces. Foreign keys aren't used. So the tables can be partitioned or distributed by the space. Texts sort by their
/// bytes (`COLLATE "C"`), like in SQLite and in Swift.
package enum LedgerTables {
  /// The steps from one version to the next. The first creates the tables. A released step never changes.
  package static let steps: [String] = [
    """
    CREATE TABLE space (
      space text COLLATE "C" NOT NULL PRIMARY KEY, epoch text NOT NULL, head bigint NOT NULL,
      floor bigint NOT NULL
    );
    CREATE TABLE record (
      space text COLLATE "C" NOT NULL, position bigint NOT NULL, type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, container text COLLATE "C" NOT NULL, modified bigint NOT NULL,
      owner text COLLATE "C", deleted boolean NOT NULL, plain boolean NOT NULL,
      fields text COLLATE "C" NOT NULL, sharing text, PRIMARY KEY (space, position),
      CONSTRAINT record_id UNIQUE (space, type, id)
    );
    CREATE INDEX record_container ON record (space, container, position);
    CREATE INDEX record_uncommon ON record (space, type) WHERE NOT plain;
    CREATE TABLE departure (
      space text COLLATE "C" NOT NULL, position bigint NOT NULL, type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, container text COLLATE "C" NOT NULL,
      PRIMARY KEY (space, position, type, id, container)
    );
    CREATE TABLE history (
      space text COLLATE "C" NOT NULL, position bigint NOT NULL, container text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, kind bigint NOT NULL,
      moved_from text COLLATE "C", principal text COLLATE "C", time bigint NOT NULL, fields text NOT NULL,
      PRIMARY KEY (space, position)
    );
    CREATE TABLE operation (
      space text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
      outcome text NOT NULL, at bigint NOT NULL, PRIMARY KEY (space, device, id)
    );
    CREATE TABLE member (
      space text COLLATE "C" NOT NULL, principal text COLLATE "C" NOT NULL, list text COLLATE "C" NOT NULL,
      PRIMARY KEY (space, principal, list)
    );
    CREATE INDEX member_list ON member (space, list);
    CREATE TABLE shared (
      space text COLLATE "C" NOT NULL, list text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, PRIMARY KEY (space, list, type, id)
    );
    CREATE INDEX shared_record ON shared (space, type, id);
    CREATE TABLE notice (
      space text COLLATE "C" NOT NULL, principal text COLLATE "C" NOT NULL, position bigint NOT NULL,
      type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (space, principal, position),
      CONSTRAINT notice_record UNIQUE (space, principal, type, id)
    );
    CREATE TABLE writer (
      space text COLLATE "C" NOT NULL, writer text COLLATE "C" NOT NULL, serial bigint NOT NULL,
      at timestamptz NOT NULL, PRIMARY KEY (space, writer)
    );
    CREATE TABLE mark (
      space text COLLATE "C" NOT NULL, at bigint NOT NULL, position bigint NOT NULL, PRIMARY KEY (space, at)
    );
    CREATE TABLE device (
      space text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL, scope text COLLATE "C" NOT NULL,
      position bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (space, device, scope)
    );
    """,
    """
    CREATE TABLE server (identity text NOT NULL);
    INSERT INTO server VALUES (gen_random_uuid()::text);
    """,
    """
    CREATE TABLE unique_value (
      space text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL,
      value text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (space, type, field, value, id)
    );
    CREATE TABLE unique_mark (
      space text COLLATE "C" NOT NULL, mark text COLLATE "C" NOT NULL, position bigint NOT NULL,
      PRIMARY KEY (space, mark)
    );
    """,
    "ALTER TABLE record ADD COLUMN created bigint;",
    """
    CREATE TABLE webhook (
      space text COLLATE "C" NOT NULL, hook text COLLATE "C" NOT NULL, epoch text NOT NULL, position bigint NOT NULL,
      holder text NOT NULL, until bigint NOT NULL, failures bigint NOT NULL, delivered bigint NOT NULL,
      PRIMARY KEY (space, hook)
    );
    """,
    // The spaces of an older form become due within an hour, at times that the random digits of their epochs choose.
    """
    ALTER TABLE space ADD COLUMN due bigint DEFAULT 0;
    ALTER TABLE space ADD COLUMN rest bigint NOT NULL DEFAULT 0;
    ALTER TABLE space ADD COLUMN oldest_outcome bigint;
    ALTER TABLE space ADD COLUMN blobs_at bigint;
    ALTER TABLE space ADD COLUMN blobs_head bigint;
    ALTER TABLE space ADD COLUMN blobs_due bigint;
    UPDATE space SET due = (extract(epoch FROM now()) * 1000)::bigint
      + (ascii(substr(epoch, 33, 1)) * 4096 + ascii(substr(epoch, 34, 1)) * 256 + ascii(substr(epoch, 35, 1)) * 16
        + ascii(substr(epoch, 36, 1))) * 997 % 3600 * 1000;
    CREATE INDEX space_due ON space (due) WHERE due IS NOT NULL;
    """,
  ]

  /// Creates the schema and its tables if they are missing, and runs the missing steps. Processes that start at one
  /// time wait for each other. Throws `BothyError` for tables of a newer version.
  static func install(in schema: String, on connection: PostgresConnection) throws {
    guard connection.serverEncoding == "UTF8" else {
      throw BothyError(
        .cannotOpen,
        "The database's encoding is \(connection.serverEncoding); texts need UTF8. Make one by "
          + "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.")
    }
    let name = schema.quotedIdentifier
    try connection.execute("BEGIN")
    do {
      var lock = PostgresStatement("SELECT pg_advisory_xact_lock(hashtextextended('bothy ' || $1, 0))")
      lock.bind(schema)
      _ = try connection.run(lock)
      var look = PostgresStatement("SELECT to_regnamespace($1) IS NOT NULL")
      look.bind(name)
      if try !connection.run(look).bool(0, 0) { try connection.execute("CREATE SCHEMA \(name)") }
      try connection.execute("SET LOCAL search_path TO \(name)")
      var version = Int64(0)
      if try connection.run(PostgresStatement("SELECT to_regclass('bothy_version') IS NOT NULL")).bool(0, 0) {
        version = try connection.run(PostgresStatement("SELECT version FROM bothy_version")).int(0, 0)
      } else {
        try connection.execute("CREATE TABLE bothy_version (version bigint NOT NULL)")
        try connection.execute("INSERT INTO bothy_version VALUES (0)")
      }
      try advance(from: version, on: connection)
      try connection.execute("COMMIT")
    } catch {
      if connection.isInTransaction {
        // The first error is thrown. A lost connection doesn't need a rollback.
        try? connection.execute("ROLLBACK")
      }
      throw error
    }
  }

  private static func advance(from version: Int64, on connection: PostgresConnection) throws {
    guard version <= steps.count else {
      throw BothyError(
        .newerFile,
        "The tables have version \(version), this server knows \(steps.count). Update it: a newer one was here."
      )
    }
    guard version < steps.count else { return }
    for step in steps.dropFirst(Int(version)) { try connection.execute(step) }
    try connection.execute("UPDATE bothy_version SET version = \(steps.count)")
  }
}
