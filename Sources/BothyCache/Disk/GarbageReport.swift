/// The result of a garbage collection.
package struct GarbageReport: Sendable, Hashable {
  /// The number of deleted files: temporary files of killed processes, quarantined files, and files without an entry.
  package var removedFiles = 0
  /// The bytes of the deleted files.
  package var freedBytes: Int64 = 0
  /// Creates an empty report.
  package init() {}
}
