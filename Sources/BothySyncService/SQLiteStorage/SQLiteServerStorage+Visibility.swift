import BothyStore
import GRDB

/// The step that adds the indexes of visibility to a file.
///
/// `audience` has a row for each name in a record's audience, and `seen` the position of the last change by key and
/// type. See `VisibilityKey`.
extension SQLiteServerStorage {
  /// Creates the indexes, and fills both tables from the records. It replaces their rows, so it may run again.
  static func addVisibility(to database: Database) throws {
    try database.execute(
      sql: """
        CREATE INDEX IF NOT EXISTS record_owner ON record (space, owner, type, position);
        CREATE INDEX IF NOT EXISTS record_type ON record (space, type, position);
        CREATE INDEX IF NOT EXISTS record_place ON record (space, container, type, position);
        CREATE INDEX IF NOT EXISTS departure_container ON departure (space, container, position);
        CREATE TABLE IF NOT EXISTS audience (
          space TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
          PRIMARY KEY (space, name, type, position)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX IF NOT EXISTS audience_record ON audience (space, type, id, name);
        CREATE TABLE IF NOT EXISTS seen (
          space TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, position INTEGER NOT NULL,
          PRIMARY KEY (space, name, type)
        ) STRICT, WITHOUT ROWID;
        DELETE FROM audience;
        DELETE FROM seen;
        \(audiences);
        INSERT INTO seen SELECT space, '', type, max(position) FROM record GROUP BY space, type;
        INSERT INTO seen SELECT space, 'o' || owner, type, max(position) FROM record
          WHERE owner IS NOT NULL GROUP BY space, owner, type;
        INSERT INTO seen SELECT space, name, type, max(position) FROM audience GROUP BY space, name, type;
        INSERT INTO seen SELECT space, 'n' || principal, '', max(position) FROM notice GROUP BY space, principal;
        """)
  }

  /// Deletes the rows of shared records that are gone. Older servers left them when they forgot tombstones. Costs a
  /// look-up for each row.
  static func forgetStrayShares(in database: Database) throws {
    try database.execute(
      sql: """
        DELETE FROM shared WHERE NOT EXISTS (
          SELECT 1 FROM record
          WHERE record.space = shared.space AND record.type = shared.type AND record.id = shared.id)
        """)
  }

  /// Adds the owner of the list to each member, by which the lists of one owner are counted. Costs a look-up for each row.
  static func addListOwners(to database: Database) throws {
    if try !database.columns(in: "member").contains(where: { $0.name == "owner" }) {
      try database.execute(sql: "ALTER TABLE member ADD COLUMN owner TEXT")
    }
    try database.execute(
      sql: """
        CREATE INDEX IF NOT EXISTS member_owner ON member (space, principal, owner);
        UPDATE member SET owner = (
          SELECT record.owner FROM record
          WHERE record.space = member.space AND record.type = 'bothy_list' AND record.id = member.list);
        """)
  }

  /// The statement that fills `audience`. A wide audience has one row.
  private static let audiences = """
    INSERT OR IGNORE INTO audience
      SELECT space, CASE WHEN names > \(VisibilityKey.indexedAudience) THEN 'w' ELSE kind || value END, type, position, id
      FROM (
        SELECT record.*, 'u' AS kind, name.value, \(audienceSize) AS names
          FROM record, json_each(record.sharing, '$.principals') AS name WHERE sharing IS NOT NULL
        UNION ALL
        SELECT record.*, 'l', name.value, \(audienceSize)
          FROM record, json_each(record.sharing, '$.lists') AS name WHERE sharing IS NOT NULL)
    """
  private static let audienceSize = """
    ifnull(json_array_length(record.sharing, '$.principals'), 0)
      + ifnull(json_array_length(record.sharing, '$.lists'), 0)
    """
}

/// The upkeep of both tables with each change.
extension SQLiteServerTransaction {
  /// Updates the index for stored records.
  func index(_ records: [StoredRecord]) throws {
    if try hasAudiences() || records.contains(where: { !$0.record.sharing.isEmpty }) {
      try replaceAudiences(of: records)
    }
    try note(VisibilityPlace.lastPositions(of: records))
  }

  private func hasAudiences() throws -> Bool {
    let select = try PreparedStatement("SELECT 1 FROM audience WHERE space = ? LIMIT 1", in: database)
    select.bind(space, at: 1)
    defer { select.reset() }
    return try select.step()
  }

  private func replaceAudiences(of records: [StoredRecord]) throws {
    let delete = try PreparedStatement(
      "DELETE FROM audience WHERE space = ? AND type = ? AND id = ?", in: database)
    let insert = try PreparedStatement("INSERT OR REPLACE INTO audience VALUES (?, ?, ?, ?, ?)", in: database)
    delete.bind(space, at: 1)
    insert.bind(space, at: 1)
    for entry in records {
      let record = entry.record
      delete.bind(record.id.type, at: 2)
      delete.bind(record.id.id, at: 3)
      try delete.run()
      for key in record.sharing.visibilityKeys {
        insert.bind(key, at: 2)
        insert.bind(record.id.type, at: 3)
        insert.bind(entry.position, at: 4)
        insert.bind(record.id.id, at: 5)
        try insert.run()
      }
    }
  }

  /// Raises the last positions of keys and types.
  func note(_ positions: [VisibilityPlace: Int64]) throws {
    let raise = try PreparedStatement(
      """
      INSERT INTO seen VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (space, name, type) DO UPDATE SET position = max(position, excluded.position)
      """, in: database)
    raise.bind(space, at: 1)
    for (place, position) in positions {
      raise.bind(place.key, at: 2)
      raise.bind(place.type, at: 3)
      raise.bind(position, at: 4)
      try raise.run()
    }
  }

  /// Returns the last positions of a key, by type.
  private func lastPositions(of key: String) throws -> [(type: String, position: Int64)] {
    let select = try PreparedStatement(
      "SELECT type, position FROM seen WHERE space = ? AND name = ?", in: database)
    select.bind(space, at: 1)
    select.bind(key, at: 2)
    defer { select.reset() }
    var found: [(type: String, position: Int64)] = []
    while try select.step() { found.append((select.text(at: 0) ?? "", select.int(at: 1))) }
    return found
  }

  func position(seenBy filter: VisibilityFilter) throws -> Int64 {
    var last: Int64 = 0
    for (type, position) in try lastPositions(of: VisibilityKey.everyone)
    where !filter.restrictedTypes.contains(type) {
      last = max(last, position)
    }
    for key in filter.keys {
      for (type, position) in try lastPositions(of: key) where filter.restrictedTypes.contains(type) {
        last = max(last, position)
      }
    }
    for name in filter.names {
      for (_, position) in try lastPositions(of: VisibilityKey.notices(name)) { last = max(last, position) }
    }
    return last
  }

  /// Returns the sources with changes after `position` that the filter shows.
  func sources(after position: Int64, seenBy filter: VisibilityFilter) throws -> VisibilitySources {
    var sources = VisibilitySources()
    for key in [VisibilityKey.everyone] + filter.keys {
      for (type, last) in try lastPositions(of: key) where last > position {
        sources.add(VisibilityPlace(key: key, type: type), filter)
      }
    }
    return sources
  }
}
