/// How much of what was decided about local writes a file keeps. Whatever is reached first holds.
public struct JournalLimits: Sendable, Hashable {
  /// An entry is kept for so many days.
  public var days: Int
  /// The most entries of writes that gave way, were merged with a loss, or were refused for good.
  public var rows: Int
  /// The most bytes that these take, with their content. The entry that passes the limit is still kept.
  public var bytes: Int
  /// The most entries of writes that lost nothing: those that the server took, and refusals that wait for a decision.
  public var acceptedRows: Int

  /// Thirty days, 10,000 entries with what they lost in 16 MB, and 2,000 that lost nothing, unless told otherwise.
  public init(days: Int = 30, rows: Int = 10_000, bytes: Int = 16 << 20, acceptedRows: Int = 2000) {
    self.days = max(0, days)
    self.rows = max(0, rows)
    self.bytes = max(0, bytes)
    self.acceptedRows = max(0, acceptedRows)
  }

  /// The time before which entries go, in milliseconds.
  func begin(at now: Int64) -> Int64 { now - Int64(clamping: days) &* 86_400_000 }
}
