import BothySyncService

/// The statements of an operator's page. Those about one space name it first; the others read the list of spaces.
enum ReportSQL {
  private static let columns = "space, epoch, head, floor, due"

  /// Returns the statement for a page of spaces whose names contain `$1`, after the number `$2` and the name `$3`.
  static func list(_ order: SpaceQuery.Order) -> String {
    let (condition, sorting) =
      switch order {
      case .name: ("space > $3 AND ($2::bigint IS NULL OR $2 IS NOT NULL)", "space")
      case .head: ("($2::bigint IS NULL OR head < $2 OR (head = $2 AND space > $3))", "head DESC, space")
      case .due:
        (
          "due IS NOT NULL AND ($2::bigint IS NULL OR due > $2 OR (due = $2 AND space > $3))", "due, space"
        )
      }
    return """
      SELECT \(columns) FROM space
      WHERE ($1 = '' OR strpos(space, $1) > 0) AND \(condition) ORDER BY \(sorting) LIMIT $4
      """
  }

  static let space = "SELECT \(columns) FROM space WHERE space = $1"
  static let count = "SELECT count(*) FROM space"
  static let lastChange = "SELECT time FROM history WHERE space = $1 ORDER BY position DESC LIMIT 1"
  static let lastRecord = "SELECT modified FROM record WHERE space = $1 ORDER BY position DESC LIMIT 1"
  static let nextChange =
    "SELECT time FROM history WHERE space = $1 AND position > $2 ORDER BY position LIMIT 1"
  static let nextRecord =
    "SELECT modified FROM record WHERE space = $1 AND position > $2 ORDER BY position LIMIT 1"

  static let devices = """
    SELECT device, count(*), min(position) AS place, max(at) FROM device WHERE space = $1 GROUP BY device
    HAVING $2::bigint IS NULL OR min(position) > $2 OR (min(position) = $2 AND device > $3)
    ORDER BY place, device LIMIT $4
    """
  static let containers = """
    SELECT container, count(*) AS records, max(position)
    FROM (SELECT container, position, deleted FROM record WHERE space = $1 LIMIT $3) AS found WHERE NOT deleted
    GROUP BY container ORDER BY records DESC, container LIMIT $2
    """
  static let outcomes = """
    SELECT CASE WHEN strpos(outcome, '"rejected"') > 0 THEN outcome END, at FROM operation WHERE space = $1 LIMIT $2
    """

  /// The condition of `WebhookState.isBehind`.
  private static let isBehind = """
    CASE WHEN w.epoch = '' AND w.position = 0 THEN s.head > 0
      ELSE w.epoch <> s.epoch OR w.position < s.head END
    """
  static let webhook = """
    SELECT count(*), count(w.hook), count(*) FILTER (WHERE w.hook IS NOT NULL AND \(isBehind)),
      count(*) FILTER (WHERE w.failures > 0), max(w.delivered)
    FROM space AS s LEFT JOIN webhook AS w ON w.space = s.space AND w.hook = $1
    """
  static let worst = """
    SELECT s.space, s.epoch, s.head, w.epoch, w.position, w.failures, w.delivered, w.holder, w.until
    FROM space AS s JOIN webhook AS w ON w.space = s.space AND w.hook = $1
    WHERE \(isBehind) ORDER BY w.failures DESC, s.space LIMIT $2
    """
}
