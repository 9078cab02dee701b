/// The statements of the list of due spaces, and of one turn of upkeep.
///
/// A space is due at `due`. A change makes it due at `rest`, unless it is due earlier. While a caller has taken it, both
/// are the end of the lease.
extension StorageSQL {
  /// The assignment that makes a space due by a change.
  static let dueByChange = "due = CASE WHEN due < rest THEN due ELSE rest END"

  /// A time later than `$3` was set by a clock that was ahead, and counts as due.
  static let dueSpaces = """
    (SELECT space, due FROM space WHERE due <= $1 ORDER BY due LIMIT $2)
    UNION ALL (SELECT space, due FROM space WHERE due > $3 LIMIT $2)
    """
  static let dueCount = """
    SELECT least($2, count(*)) FROM (
      (SELECT 1 FROM space WHERE due <= $1 LIMIT $2)
      UNION ALL (SELECT 1 FROM space WHERE due > $3 LIMIT $2)) AS found
    """
  /// Of several processes one changes the row. The others wait for its commit, and then the row isn't due.
  static let take = """
    UPDATE space SET due = $2, rest = $2 WHERE space = $1 AND (due <= $3 OR due > $4)
    RETURNING head, blobs_at, blobs_head, blobs_due
    """
  static let putOff = "UPDATE space SET due = $3, rest = $3 WHERE space = $1 AND due = $2"
  static let makeDue = "UPDATE space SET due = rest WHERE space = $1 AND (due IS NULL OR due > rest)"
  static let makeDueForDevice = """
    UPDATE space SET due = rest WHERE space = $1 AND (due IS NULL OR ($2 AND head > floor AND due > rest))
    """
  static let list = "UPDATE space SET due = rest WHERE space = $1 AND due IS NULL"
  static let collection = "SELECT blobs_at, blobs_head, blobs_due FROM space WHERE space = $1"

  static let turn = "SELECT head, floor, due, oldest_outcome FROM space WHERE space = $1 FOR UPDATE"
  static let marks = "SELECT at, position FROM mark WHERE space = $1 ORDER BY at"
  static let devices = """
    SELECT min(CASE WHEN at >= $2 THEN position END), min(CASE WHEN at >= $2 THEN at END), min(at)
    FROM device WHERE space = $1
    """
  static let progress = "SELECT scope, position FROM device WHERE space = $1 AND device = $2"
  static let forgetOldOutcomes = """
    DELETE FROM operation WHERE space = $1 AND (device, id) IN (
      SELECT device, id FROM operation WHERE space = $1 AND at < $2 LIMIT $3)
    """
  static let oldestOutcome = "SELECT min(at) FROM operation WHERE space = $1"
  static let addMark = """
    INSERT INTO mark (space, at, position) VALUES ($1, $2, $3)
    ON CONFLICT (space, at) DO UPDATE SET position = excluded.position
    """
  static let dropMarks = "DELETE FROM mark WHERE space = $1 AND at >= $2 AND at <= $3"
  private static let tombstones = "record WHERE space = $1 AND position > $2 AND position <= $3 AND deleted"
  /// The position up to which a step forgets about `$4` rows of each kind after `$2` up to `$3`, or NULL if it forgets
  /// all.
  static let stop: String = {
    let range = "WHERE space = $1 AND position > $2 AND position <= $3"
    let stops = [tombstones, "departure \(range)", "notice \(range)"].map {
      "(SELECT position FROM \($0) ORDER BY position LIMIT 1 OFFSET $4)"
    }
    return "SELECT min(position) FROM (\(stops.joined(separator: " UNION ALL "))) AS found"
  }()
  /// Deletes what is up to `$3`: the tombstones after `$2`, before them their rows in the indexes of audiences, and all
  /// departures and notices.
  static let forgetting: [String] =
    ["audience", "shared"].map {
      "DELETE FROM \($0) WHERE space = $1 AND (type, id) IN (SELECT type, id FROM \(tombstones))"
    } + ["DELETE FROM \(tombstones)"]
    + ["departure", "notice"].map {
      "DELETE FROM \($0) WHERE space = $1 AND $2::bigint IS NOT NULL AND position <= $3"
    }
  static let endTurn = """
    UPDATE space SET floor = $2, due = $3, rest = $4, oldest_outcome = $5, blobs_at = $6, blobs_head = $7,
      blobs_due = $8 WHERE space = $1
    """

  static let upkeep: [String] =
    forgetting + [
      dueSpaces, dueCount, take, putOff, makeDue, makeDueForDevice, list, collection, turn, marks, devices,
      progress, forgetOldOutcomes, oldestOutcome, addMark, dropMarks, stop, endTurn,
    ]
}
