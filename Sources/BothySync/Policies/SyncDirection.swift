/// The directions of a sync.
///
/// ```swift
/// let report = await store.sync(.push)
/// show("\(report.pushed) changes sent")
/// ```
///
/// A conflict is decided with the server's answer to a push, so it may replace local content under `.push` too.
public enum SyncDirection: String, Sendable, Hashable, CaseIterable {
  /// Sends pending changes and pulls nothing.
  case push
  /// Pulls the server's changes and sends nothing.
  case pull
  /// Does both, in shared round trips. The default of `SyncOptions.direction`.
  case both
}
