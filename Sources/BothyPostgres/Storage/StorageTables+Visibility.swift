import BothySyncService

extension StorageTables {
  /// The step that adds the indexes of visibility, and fills both tables from the records.
  ///
  /// `audience` has a row for each name in a record's audience, and `seen` the position of the last change by key and
  /// type. See `VisibilityKey`. Older servers don't keep them, so the step isn't additive.
  static let visibility = Step(
    stringLiteral: """
      CREATE INDEX record_owner ON record (space, owner, type, position);
      CREATE INDEX record_type ON record (space, type, position);
      CREATE INDEX record_place ON record (space, container, type, position);
      CREATE INDEX departure_container ON departure (space, container, position);
      CREATE TABLE audience (
        space text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
        position bigint NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (space, name, type, position),
        CONSTRAINT audience_record UNIQUE (space, type, id, name)
      );
      CREATE TABLE seen (
        space text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
        position bigint NOT NULL, PRIMARY KEY (space, name, type)
      );
      INSERT INTO audience (space, name, type, position, id)
        SELECT DISTINCT space, CASE WHEN names > \(VisibilityKey.indexedAudience) THEN 'w' ELSE kind || name END,
          type, position, id
        FROM (
          SELECT space, type, position, id, 'u' AS kind, \(names("principals")) AS name, \(size) AS names
            FROM record WHERE \(isShared)
          UNION ALL
          SELECT space, type, position, id, 'l', \(names("lists")), \(size) FROM record WHERE \(isShared)
        ) AS named;
      INSERT INTO seen SELECT space, '', type, max(position) FROM record GROUP BY space, type;
      INSERT INTO seen SELECT space, 'o' || owner, type, max(position) FROM record
        WHERE owner IS NOT NULL GROUP BY space, owner, type;
      INSERT INTO seen SELECT space, name, type, max(position) FROM audience GROUP BY space, name, type;
      INSERT INTO seen SELECT space, 'n' || principal, '', max(position) FROM notice GROUP BY space, principal;
      """)

  /// The step that deletes the rows of shared records that are gone. Older servers left them when they forgot
  /// tombstones.
  static let strayShares = Step.additive(
    """
    DELETE FROM shared WHERE NOT EXISTS (
      SELECT FROM record
      WHERE record.space = shared.space AND record.type = shared.type AND record.id = shared.id);
    """)

  /// The step that adds the owner of the list to each member, by which the lists of one owner are counted. Members that
  /// older servers add count for no owner.
  static let listOwners = Step.additive(
    """
    ALTER TABLE member ADD COLUMN owner text COLLATE "C";
    CREATE INDEX member_owner ON member (space, principal, owner, list);
    UPDATE member SET owner = record.owner FROM record
      WHERE record.space = member.space AND record.type = 'bothy_list' AND record.id = member.list;
    """)

  /// No name in an audience has a zero character, which `jsonb` refuses.
  private static let isShared = #"sharing IS NOT NULL AND strpos(sharing, '\u0000') = 0"#
  private static func names(_ member: String) -> String {
    "jsonb_array_elements_text(sharing::jsonb -> '\(member)')"
  }
  private static let size = """
    coalesce(jsonb_array_length(sharing::jsonb -> 'principals'), 0)
      + coalesce(jsonb_array_length(sharing::jsonb -> 'lists'), 0)
    """
}
