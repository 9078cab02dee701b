/// The statements that compare a streaming standby with its primary.
///
/// Positions of the log count its bytes from the start. A timeline is the number of a history of the log, and each
/// promotion begins another one.
enum ReplicaSQL {
  /// Returns the end of the primary's durable log and its timeline. Each commit that others see is before this end.
  static let end = """
    SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint,
      ('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::bigint
    """
  static let heads = "SELECT space, epoch, head FROM space WHERE space = ANY($1::text[])"

  static let beginLook = "BEGIN READ ONLY"
  /// Returns the end of the log that a standby has applied, and a timeline that it belongs to.
  ///
  /// `received_tli` is known to users with the role `pg_monitor`. The other one may be that of the last checkpoint.
  static let progress = """
    SELECT pg_is_in_recovery(), coalesce((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint, 0),
      coalesce(greatest(
        (SELECT min_recovery_end_timeline FROM pg_control_recovery()),
        (SELECT received_tli FROM pg_stat_wal_receiver)), 0)::bigint
    """
  static let isStandby = "SELECT pg_is_in_recovery()"

  /// Returns the number that all copies of one cluster share.
  static let cluster = "SELECT system_identifier FROM pg_control_system()"
  static let identity = "SELECT identity FROM server"
  static let version = "SELECT version, oldest FROM bothy_version"
}
