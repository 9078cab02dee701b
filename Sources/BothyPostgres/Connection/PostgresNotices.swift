import CPostgres

/// The notices of one session, of which one decides about a commit.
///
/// PostgreSQL answers a commit as made if its wait for a synchronous standby is cancelled, by `pg_cancel_backend` or by
/// a cancel request. Only a warning says that a standby may lack it. Used on the thread of the connection, which keeps
/// it for as long as the session exists.
final class PostgresNotices {
  private var isUnreplicated = false

  /// Receives the notices of a session from now on.
  func receive(from handle: OpaquePointer) {
    PQsetNoticeReceiver(
      handle,
      { receiver, notice in
        guard let receiver, let notice else { return }
        let notices = Unmanaged<PostgresNotices>.fromOpaque(receiver).takeUnretainedValue()
        notices.note(
          PostgresFailure(
            code: PostgresNotices.field("C", of: notice),
            message: PostgresNotices.field("M", of: notice) ?? "",
            routine: PostgresNotices.field("R", of: notice)))
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private static func field(_ letter: Unicode.Scalar, of notice: OpaquePointer) -> String? {
    PQresultErrorField(notice, Int32(UInt8(ascii: letter))).map { String(cString: $0) }
  }

  private func note(_ notice: PostgresFailure) {
    if notice.isCancelledWait { isUnreplicated = true }
  }

  /// Throws `PostgresFailure.unreplicated` once if such a warning has arrived since the last call.
  func check() throws(PostgresFailure) {
    defer { isUnreplicated = false }
    if isUnreplicated { throw .unreplicated }
  }
}
