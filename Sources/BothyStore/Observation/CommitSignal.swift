/// How a store tells other stores on the same file that it has committed, and hears of their commits.
///
/// Announcing follows every commit and must cost a microsecond or two; watching is started only while somebody
/// observes.
protocol CommitSignal: Sendable {
  /// Tells the others. On the thread that wrote.
  func announce()
  /// Calls `heard` after commits of others, from any thread, at least once after the last of them, until `stop`.
  /// A call with no such commit is harmless. Throws when there is no way to watch.
  func start(_ heard: @escaping @Sendable () -> Void) throws
  func stop()
  /// Gives up files and descriptors. Nothing is called after it.
  func close()
}
