/// Announces the commits of a store to other stores on the same file, and reports theirs.
///
/// An announcement follows every commit and must cost a microsecond or two. The watch runs only while an observer
/// exists.
protocol CommitSignal: Sendable {
  /// Announces a commit to the others, on the thread that wrote.
  func announce()
  /// Calls `heard` after commits of others, from any thread, until `stop`. A call comes at least once after the last
  /// commit, and may come without one. Throws if the platform can't watch.
  func start(_ heard: @escaping @Sendable () -> Void) throws
  func stop()
  /// Closes files and descriptors. No method is called after it.
  func close()
}
