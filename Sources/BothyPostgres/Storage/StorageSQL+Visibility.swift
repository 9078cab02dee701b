import BothySyncService

/// The statements of the indexes of visibility. `StorageTables.visibility` describes their tables.
extension StorageSQL {
  static let putAudiences = RowInsert(
    into: "audience", ["name", "type", "position", "id"],
    onConflict: "(space, type, id, name) DO UPDATE SET position = excluded.position")
  static let raiseSeen = RowInsert(
    into: "seen", ["name", "type", "position"],
    onConflict: "(space, name, type) DO UPDATE SET position = greatest(seen.position, excluded.position)")

  static let clearAudiences = """
    DELETE FROM audience
    WHERE space = $1 AND (type, id) IN (SELECT * FROM unnest($2::text[], $3::text[]))
    """

  /// The keys and types with changes after `$2`: of all records, and of restricted types `$4` under the keys `$3`.
  static let seenSources = """
    SELECT name, type FROM seen
    WHERE space = $1 AND (name = '' OR (name = ANY($3::text[]) AND type = ANY($4::text[]))) AND position > $2
    """
  /// The last position of other types than `$2`, of these under the keys `$3`, and of the notices `$4`.
  static let seenPosition = """
    SELECT coalesce(max(position), 0) FROM seen
    WHERE space = $1 AND (
      (name = '' AND NOT type = ANY($2::text[])) OR (name = ANY($3::text[]) AND type = ANY($2::text[]))
      OR name = ANY($4::text[]))
    """

  /// The groups of sources that a statement reads.
  struct Pieces: OptionSet {
    let rawValue: Int
    static let whole = Pieces(rawValue: 1)
    static let owned = Pieces(rawValue: 2)
    static let shared = Pieces(rawValue: 4)
    static let named = Pieces(rawValue: 8)
    static let indexed = Pieces(rawValue: 16)
    static let all: Pieces = [.whole, .owned, .shared, .named, .indexed]
  }

  /// Returns the changes after `$3` of the types `$6`, of the types `$8` that `$7` owns, and of the types `$10` under
  /// the keys `$9`. With the last two pieces also those of the types `$11` with the ids `$12`, and of the types `$13`
  /// with entries in the ranges `$14` to `$16`, of whose deleted ones (`$17`) there are none. The limits are those of
  /// `changes`.
  ///
  /// Each source has an index range in the order of positions, of which at most `$4` rows are read.
  static func visibleChanges(_ scope: Scope, pieces: Pieces) -> String {
    let end = "AND position > $3 ORDER BY position LIMIT $4) AS found"
    var parts: [String] = []
    if pieces.contains(.whole) {
      parts += conditions(scope).map { condition in
        """
        SELECT found.position FROM unnest($6::text[]) AS wanted(type) CROSS JOIN LATERAL (
          SELECT position FROM record WHERE space = $1 AND type = wanted.type AND \(condition) \(end)
        """
      }
    }
    if pieces.contains(.owned) {
      parts.append(
        """
        SELECT found.position FROM unnest($8::text[]) AS wanted(type) CROSS JOIN LATERAL (
          SELECT position FROM record
          WHERE space = $1 AND owner = $7 AND type = wanted.type AND \(scope.condition) \(end)
        """)
    }
    if pieces.contains(.shared) {
      parts.append(
        """
        SELECT found.position FROM unnest($9::text[], $10::text[]) AS wanted(name, type) CROSS JOIN LATERAL (
          SELECT audience.position FROM audience
          JOIN record ON record.space = $1 AND record.position = audience.position
            AND record.type = audience.type AND record.id = audience.id
          WHERE audience.space = $1 AND audience.name = wanted.name AND audience.type = wanted.type
            AND \(scope.condition) AND audience.position > $3 ORDER BY audience.position LIMIT $4) AS found
        """)
    }
    if pieces.contains(.named) { parts.append(named(scope, end)) }
    if pieces.contains(.indexed) { parts += indexed(scope, end) }
    return """
      SELECT \(columns) FROM (
        SELECT \(columns), sum(\(size)) OVER (ORDER BY position) - \(size) AS before
        FROM record WHERE space = $1 AND position IN (
          SELECT position FROM (\(parts.joined(separator: "\nUNION\n"))) AS places ORDER BY position LIMIT $4)
      ) AS counted
      WHERE before < $5 ORDER BY position
      """
  }

  private static func named(_ scope: Scope, _ end: String) -> String {
    """
    SELECT found.position FROM (SELECT DISTINCT type FROM unnest($11::text[]) AS named(type)) AS wanted
    CROSS JOIN LATERAL (
      SELECT position FROM record WHERE space = $1 AND type = wanted.type
        AND id IN (SELECT id FROM unnest($11::text[], $12::text[]) AS pair(type, id) WHERE pair.type = wanted.type)
        AND \(scope.condition) \(end)
    """
  }

  /// Returns the parts for live records, by their entries, and for deleted ones.
  private static func indexed(_ scope: Scope, _ end: String) -> [String] {
    [
      """
      SELECT found.position
      FROM unnest($13::text[], $14::bigint[], $15::text[], $16::text[]) AS wanted(type, field, lower, upper)
      CROSS JOIN LATERAL (
        SELECT record.position FROM field_value
        JOIN record ON record.space = $1 AND record.type = wanted.type AND record.id = field_value.id
        WHERE field_value.space = $1 AND field_value.field = wanted.field
          AND field_value.key >= decode(wanted.lower, 'hex') AND field_value.key < decode(wanted.upper, 'hex')
          AND \(scope.condition) AND record.position > $3 ORDER BY record.position LIMIT $4) AS found
      """,
      """
      SELECT found.position FROM unnest($17::text[]) AS wanted(type) CROSS JOIN LATERAL (
        SELECT position FROM record
        WHERE space = $1 AND type = wanted.type AND deleted AND \(scope.condition) \(end)
      """,
    ]
  }

  /// A tree has two ranges in the index, of which each is read in the order of positions.
  private static func conditions(_ scope: Scope) -> [String] {
    guard scope == .tree else { return [scope.condition] }
    return ["container = $2", "container >= $2 || '/' AND container < $2 || '0'"]
  }

  static let visibility = [clearAudiences, seenSources, seenPosition]
}
