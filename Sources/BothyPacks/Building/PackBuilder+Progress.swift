extension PackBuilder {
  /// The progress of a build: first all rows, then all files.
  public enum Progress: Sendable, Hashable {
    /// The number of rows that were added, a multiple of 1000.
    ///
    /// A build of fewer rows reports none.
    case rows(Int)
    /// The number of finished files, and the number of all files.
    ///
    /// The index is the first file. Each shard is one more.
    case files(Int, of: Int)
  }
}
