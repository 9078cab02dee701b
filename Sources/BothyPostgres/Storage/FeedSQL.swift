/// The statements for the progress of webhooks. Those of one space name it; the others list spaces or read the progress
/// in all of them.
enum FeedSQL {
  static let heads =
    "SELECT space, epoch, head FROM space WHERE space > $1 AND head > 0 ORDER BY space LIMIT $2"
  static let webhooks = "SELECT DISTINCT hook FROM webhook ORDER BY hook"

  /// The state of the webhook `$2` in a space.
  static let state = states("s.space = $1")
  /// The states of the webhook `$2` in the spaces after a name.
  static let statesAfter = states("s.space > $1")

  private static func states(_ condition: String) -> String {
    """
    SELECT s.space, s.epoch, s.head, w.epoch, w.position, w.failures, w.delivered, w.holder, w.until
    FROM space AS s LEFT JOIN webhook AS w ON w.space = s.space AND w.hook = $2
    WHERE \(condition) ORDER BY s.space LIMIT $3
    """
  }

  static let claim = """
    INSERT INTO webhook (space, hook, epoch, position, holder, until, failures, delivered)
    VALUES ($1, $2, '', 0, $3, $4, 0, 0)
    ON CONFLICT (space, hook) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE webhook.holder = excluded.holder OR webhook.until <= $5 OR webhook.until > $6
    RETURNING epoch, position, failures, delivered
    """
  static let note = """
    UPDATE webhook SET epoch = $4, position = $5, failures = $6, delivered = $7, until = $8
    WHERE space = $1 AND hook = $2 AND holder = $3 RETURNING space
    """
  static let place = """
    INSERT INTO webhook (space, hook, epoch, position, holder, until, failures, delivered)
    VALUES ($1, $2, $3, $4, '', 0, 0, 0)
    ON CONFLICT (space, hook) DO UPDATE SET epoch = excluded.epoch, position = excluded.position, holder = '',
      until = 0, failures = 0, delivered = 0
    """
}
