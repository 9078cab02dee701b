import BothyStore

/// The tables of a storage in PostgreSQL, and the steps from an older form to this one.
///
/// The key and each index of every table begin with the space, except for the one row of `server` and the index of due
/// spaces. Foreign keys aren't used. So the tables can be partitioned or distributed by the space. Texts sort by their
/// bytes (`COLLATE "C"`), like in SQLite and in Swift.
package enum StorageTables {
  /// A step from one version of the tables to the next.
  package struct Step: Sendable, ExpressibleByStringLiteral {
    package let sql: String
    /// True if servers that don't know the step may go on, because their statements mean the same after it.
    package var isAdditive = false

    /// Makes a step after which servers that don't know it must not use the tables.
    package init(stringLiteral sql: String) { self.sql = sql }

    /// Makes a step after which servers that don't know it go on.
    package static func additive(_ sql: String) -> Step {
      var step = Step(stringLiteral: sql)
      step.isAdditive = true
      return step
    }
  }

  /// The steps from one version to the next. The first creates the tables. A released step never changes.
  package static let steps: [Step] = [
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
    visibility, fieldIndexes,
    // Servers from before neither write nor read notes with the column.
    .additive("ALTER TABLE departure ADD COLUMN former text;"),
    // Deleted records have no entries in indexes of fields.
    .additive("CREATE INDEX record_deleted ON record (space, type, position) WHERE deleted;"),
    strayShares,
    // An upkeep forgets a part of what is too old in each transaction, and finds it by the position.
    .additive(
      """
      CREATE INDEX record_tombstone ON record (space, position) WHERE deleted;
      CREATE INDEX notice_position ON notice (space, position);
      """),
    listOwners,
  ]
}
