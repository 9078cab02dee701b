/// Files that a server reads again when they change, with what is done then.
package struct WatchedFiles: Sendable {
  package var paths: [String]
  /// The name of the files' content, as the subject of a log line in the singular.
  package var subject: String
  /// Reads the files, and throws if they can't be used.
  package var reload: @Sendable () throws -> Void
  /// The versions of the files when the value was created.
  let versions: [FileVersion?]

  package init(_ paths: [String], subject: String, reload: @escaping @Sendable () throws -> Void) {
    self.paths = paths
    self.subject = subject
    self.reload = reload
    versions = FileWatch.stamps(of: paths)
  }
}
