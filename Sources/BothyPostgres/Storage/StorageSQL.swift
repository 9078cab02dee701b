import BothySyncService

/// The statements of a storage. Each but `checkTables`, `spaces`, `dueSpaces` and `dueCount` has the space as its first
/// parameter.
///
/// Several values for each row come as arrays, so one plan serves any number of rows: PostgreSQL's relatives have `unnest`
/// of several arrays and LATERAL too. Inserts have VALUES, because Citus takes others to its coordinator.
enum StorageSQL {
  static let columns =
    "position, type, id, container, modified, owner, deleted, fields, sharing, created"

  /// The bytes of a record that its readers count.
  static let size = "(octet_length(fields) + coalesce(octet_length(sharing), 0))"

  static let beginWriting = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
  static let beginReading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

  static let state = "SELECT epoch, head, floor, due IS NULL, indexes, indexed FROM space WHERE space = $1"
  /// The row's lock makes the order of positions the order of commits.
  static let lockedState = state + " FOR UPDATE"
  /// Fails if the tables need a newer server. It follows the lock of a space, for which the steps of a newer server wait.
  /// So a write that passes it is committed before such a step. PostgreSQL's log has the text.
  static let checkTables = """
    SELECT CASE WHEN oldest > \(StorageTables.steps.count)
      THEN ('\(tablesMark) need a server that knows ' || oldest)::bigint END FROM bothy_version
    """
  static let tablesMark = "the tables of bothy"
  static let newSpace =
    "INSERT INTO space (space, epoch, head, floor, due) VALUES ($1, $2, 0, 0, 0) ON CONFLICT (space) DO NOTHING"
  static let moveHead = "UPDATE space SET head = $2, \(dueByChange) WHERE space = $1"
  static let spaces = "SELECT space FROM space ORDER BY space"

  static let heads = "SELECT space, head FROM space WHERE space = ANY($1::text[])"

  /// Returns the records in the order of the ids whose fields have at most `$4` bytes, and the one that exceeds them.
  static let records = """
    SELECT \(columns) FROM (
      SELECT \(columns), place, sum(\(size)) OVER (ORDER BY place) - \(size) AS before
      FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted(of_type, of_id, place)
      JOIN record ON record.space = $1 AND record.type = wanted.of_type AND record.id = wanted.of_id) AS counted
    WHERE before < $4 ORDER BY place
    """

  /// The condition on a container for the path in `$2`. All paths below one begin with it and a slash, and `0` is the
  /// character after `/`.
  enum Scope: CaseIterable {
    case all
    case one
    case tree

    var condition: String {
      switch self {
      case .all: "$2::text IS NOT NULL"
      case .one: "container = $2"
      case .tree: "(container = $2 OR (container >= $2 || '/' AND container < $2 || '0'))"
      }
    }
  }

  /// Returns the changes whose fields have at most `$5` bytes, and the one that exceeds them.
  static func changes(_ scope: Scope) -> String {
    """
    SELECT \(columns) FROM (
      SELECT \(columns), sum(\(size)) OVER (ORDER BY position) - \(size) AS before FROM (
        SELECT \(columns) FROM record WHERE space = $1 AND \(scope.condition) AND position > $3
        ORDER BY position LIMIT $4) AS found) AS counted
    WHERE before < $5 ORDER BY position
    """
  }

  static func departures(_ scope: Scope) -> String {
    """
    SELECT position, type, id, container, former FROM departure
    WHERE space = $1 AND \(scope.condition) AND position > $3 AND position <= $4 AND former IS NULL
    ORDER BY position LIMIT $5
    """
  }

  static let formerlyVisible = """
    SELECT position, type, id, container, former FROM departure
    WHERE space = $1 AND position > $2 AND position <= $3 AND former IS NOT NULL ORDER BY position LIMIT $4
    """

  static func position(_ scope: Scope) -> String {
    """
    SELECT greatest(
      coalesce((SELECT max(position) FROM record WHERE space = $1 AND \(scope.condition)), 0),
      coalesce((SELECT max(position) FROM departure WHERE space = $1 AND \(scope.condition)), 0))
    """
  }

  static func visit(_ scope: Scope) -> String {
    "SELECT \(columns) FROM record WHERE space = $1 AND NOT deleted AND \(scope.condition)"
  }

  static func history(_ scope: Scope) -> String {
    """
    SELECT position, container, type, id, kind, moved_from, principal, time, fields FROM history
    WHERE space = $1 AND \(scope.condition) AND position < $3
      AND ($4::text IS NULL OR (type = $4 AND id = $5)) ORDER BY position DESC LIMIT $6
    """
  }

  static let historyAfter = """
    SELECT position, container, type, id, kind, moved_from, principal, time, fields FROM history
    WHERE space = $1 AND position > $2 ORDER BY position LIMIT $3
    """
  static let cutHistory = """
    DELETE FROM history WHERE space = $1 AND position <= (
      SELECT position FROM history WHERE space = $1 ORDER BY position DESC LIMIT 1 OFFSET $2)
    """

  static let outcomes = """
    SELECT device, id, outcome FROM operation
    WHERE space = $1 AND (device, id) IN (SELECT * FROM unnest($2::text[], $3::text[]))
    """
  /// A thousand at a time, which is more than a request has, so that outcomes don't accumulate.
  static let forget = """
    DELETE FROM operation WHERE space = $1 AND device = $2 AND at < $4 AND id IN (
      SELECT id FROM operation WHERE space = $1 AND device = $2 AND id < $3 ORDER BY id LIMIT 1000)
    """

  static let uniqueMark = "SELECT position FROM unique_mark WHERE space = $1 AND mark = $2"
  static let holders = """
    SELECT type, field, value, id FROM unique_value WHERE space = $1
      AND (type, field, value) IN (SELECT * FROM unnest($2::text[], $3::text[], $4::text[]))
    """
  static let forgetHolders = """
    DELETE FROM unique_value WHERE space = $1
      AND (type, field, value, id) IN (SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]))
    """
  static let beginUniqueMark = """
    INSERT INTO unique_mark (space, mark, position) VALUES ($1, $2, $4)
    ON CONFLICT (space, mark) DO UPDATE SET position = excluded.position WHERE unique_mark.position = $3
    """
  static let moveUniqueMark =
    "UPDATE unique_mark SET position = $4 WHERE space = $1 AND mark = $2 AND position = $3"

  static let lists = "SELECT DISTINCT list FROM member WHERE space = $1 AND principal = ANY($2::text[])"
  /// The numbers of lists that name the users `$2`, each counted up to `$3`.
  static let listCounts = countLists(where: "")
  /// Those of the lists of the owner `$4`.
  static let ownListCounts = countLists(where: "AND owner = $4")

  /// The order is that of an index. Without one PostgreSQL may read the whole table for a few rows of any order.
  private static func countLists(where condition: String) -> String {
    """
    SELECT found.total FROM unnest($2::text[]) WITH ORDINALITY AS wanted(name, place) CROSS JOIN LATERAL (
      SELECT count(*) AS total FROM (
        SELECT 1 FROM member WHERE space = $1 AND principal = wanted.name \(condition) ORDER BY list LIMIT $3
      ) AS named) AS found
    ORDER BY wanted.place
    """
  }

  static let listOwners =
    "SELECT list, owner FROM member WHERE space = $1 AND principal = $2 ORDER BY list LIMIT $3"
  static let members = "SELECT principal FROM member WHERE space = $1 AND list = $2"
  static let sharedRecords = "SELECT type, id FROM shared WHERE space = $1 AND list = $2 LIMIT $3"
  static let notices = """
    SELECT found.position, found.type, found.id, wanted.name FROM unnest($2::text[]) AS wanted(name)
    CROSS JOIN LATERAL (
      SELECT position, type, id FROM notice WHERE space = $1 AND principal = wanted.name AND position > $3
      ORDER BY position LIMIT $4) AS found
    ORDER BY found.position LIMIT $4
    """
  static let clearMembers = "DELETE FROM member WHERE space = $1 AND list = $2"
  static let clearLists = "DELETE FROM shared WHERE space = $1 AND type = $2 AND id = $3"

  /// The signature that a writer leaves in each transaction. After a commit without an answer, it shows if the commit
  /// was made.
  static let sign = """
    INSERT INTO writer (space, writer, serial, at) VALUES ($1, $2, $3, now())
    ON CONFLICT (space, writer) DO UPDATE SET serial = excluded.serial, at = excluded.at
    """
  static let signature = "SELECT serial FROM writer WHERE space = $1 AND writer = $2"
  static let clearSignatures = "DELETE FROM writer WHERE space = $1 AND at < now() - interval '1 day'"

  static let startEpoch =
    "UPDATE space SET epoch = $2, head = head + 4294967296, \(dueByChange) WHERE space = $1"
  static let raiseFloor = "UPDATE space SET floor = greatest(floor, $2) WHERE space = $1"

  static let marked = "SELECT position FROM mark WHERE space = $1 AND at <= $2 ORDER BY at DESC LIMIT 1"
  static let acknowledge = """
    INSERT INTO device (space, device, scope, position, at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (space, device, scope) DO UPDATE SET position = excluded.position, at = excluded.at
    """
  static let progressCount = """
    SELECT count(*) FROM (
      SELECT 1 FROM device WHERE space = $1 AND device >= $2 AND device < $3 LIMIT $4) AS found
    """
  static let acknowledged = "SELECT min(position) FROM device WHERE space = $1 AND at >= $2"
  static let forgetDevices = "DELETE FROM device WHERE space = $1"
  static let forgetOldDevices = "DELETE FROM device WHERE space = $1 AND at < $2"
  /// The numbers of what is among `$2` rows.
  static let recordNumbers = """
    SELECT count(*) FILTER (WHERE NOT deleted), count(*) FILTER (WHERE deleted),
      count(DISTINCT container) FILTER (WHERE NOT deleted),
      coalesce(sum(bytes) FILTER (WHERE NOT deleted), 0)::bigint
    FROM (
      SELECT deleted, container, octet_length(fields) AS bytes FROM record WHERE space = $1 LIMIT $2) AS found
    """
  static let outcomeNumber =
    "SELECT count(*) FROM (SELECT 1 FROM operation WHERE space = $1 LIMIT $2) AS found"
  static let deviceNumber = """
    SELECT count(DISTINCT device), count(*) FROM (
      SELECT device FROM device WHERE space = $1 LIMIT $2) AS found
    """
  static let users = """
    SELECT name, sum(records)::bigint, sum(lists)::bigint FROM (
      SELECT owner AS name, count(*) AS records, 0 AS lists
        FROM (SELECT owner, deleted FROM record WHERE space = $1 LIMIT $2) AS found
        WHERE NOT deleted AND owner IS NOT NULL GROUP BY owner
      UNION ALL
      SELECT principal, 0, count(*)
        FROM (SELECT principal FROM member WHERE space = $1 LIMIT $2) AS found GROUP BY principal) AS counted
    GROUP BY name ORDER BY name
    """
  /// The row of the space is deleted last, because it has the lock.
  static let removal =
    (SpaceRows.all.map(\.table) + ["mark", "writer", "unique_mark", "webhook", "seen", "space"]).map {
      "DELETE FROM \($0) WHERE space = $1"
    }

  static let hasUncommon = "SELECT EXISTS (SELECT FROM record WHERE space = $1 AND type = $2 AND NOT plain)"

  /// All statements except those of queries, which are made from them.
  static let all: [String] =
    [
      state, lockedState, newSpace, moveHead, spaces, heads, records, cutHistory, outcomes, forget, lists,
      listCounts, ownListCounts, listOwners, members, sharedRecords, notices, clearMembers, clearLists, sign,
      signature, clearSignatures, startEpoch, raiseFloor, hasUncommon, marked, acknowledge,
      progressCount, acknowledged, forgetDevices, uniqueMark, holders, forgetHolders, beginUniqueMark,
      moveUniqueMark, forgetOldDevices, recordNumbers, outcomeNumber, deviceNumber, users, historyAfter,
      formerlyVisible,
    ]
    + upkeep + removal + visibility + fieldIndexes + inserts.flatMap(\.statements.values)
    + Scope.allCases.flatMap {
      [
        changes($0), departures($0), position($0), visit($0), history($0),
        visibleChanges($0, pieces: .all),
      ]
    }
}
