extension SyncOptions {
  /// The limits of the journal in a file. The limit that is reached first applies.
  public struct JournalLimits: Sendable, Hashable {
    /// The number of days for which an entry is kept.
    package var days: Int
    /// The most entries of writes that were overwritten, merged with a loss, or rejected for good.
    package var rows: Int
    /// The most bytes that these take, with their content. The entry that passes the limit is still kept.
    package var bytes: Int
    /// The most entries of writes that lost nothing: accepted ones, and rejections that wait for a decision.
    package var acceptedRows: Int

    /// Creates limits, by default thirty days, 10,000 entries with what they lost in 16 MB, and 2,000 that lost nothing.
    public init(days: Int = 30, rows: Int = 10_000, bytes: Int = 16 << 20, acceptedRows: Int = 2000) {
      self.days = max(0, days)
      self.rows = max(0, rows)
      self.bytes = max(0, bytes)
      self.acceptedRows = max(0, acceptedRows)
    }

    /// Returns the time before which entries are removed, in milliseconds.
    func begin(at now: Int64) -> Int64 { now - Int64(clamping: days) &* 86_400_000 }
  }
}
