import Foundation

/// The identity of one version of a file, without reading it: its file number, size and time.
struct FileVersion: Hashable, Sendable {
  var node: UInt64
  var size: Int64
  /// The time of the last change, in milliseconds since 1970.
  var modified: Int64
  private var exactly: Double

  /// Returns `nil` if the path has no file, or has a folder.
  init?(path: String) {
    // A file whose attributes can't be read can't be served either.
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: Self.target(path)),
      attributes[.type] as? FileAttributeType == .typeRegular
    else { return nil }
    node = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
    size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
    exactly = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    modified = Int64((exactly * 1000).rounded(.down))
  }

  /// Creates the stamp of a SQLite file together with its log, which holds the latest writes.
  init?(database path: String) {
    self.init(path: path)
    guard let log = FileVersion(path: path + "-wal") else { return }
    size += log.size
    exactly += log.exactly
    modified = max(modified, log.modified)
  }

  /// Returns the file that a symbolic link points to.
  static func target(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }
}
