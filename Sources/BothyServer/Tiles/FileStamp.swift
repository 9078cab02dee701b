import Foundation

/// What tells one version of a file from another without reading it: its place on the disk, size and time.
struct FileStamp: Hashable, Sendable {
  var node: UInt64
  var size: Int64
  /// Milliseconds since 1970.
  var modified: Int64
  private var exactly: Double

  /// Nil where there is no file, or a folder in its place.
  init?(path: String) {
    // What can't be looked at can't be served either.
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: Self.target(path)),
      attributes[.type] as? FileAttributeType == .typeRegular
    else { return nil }
    node = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
    size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
    exactly = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    modified = Int64((exactly * 1000).rounded(.down))
  }

  /// The stamp of a SQLite file together with its log, which holds what was written last.
  init?(database path: String) {
    self.init(path: path)
    guard let log = FileStamp(path: path + "-wal") else { return }
    size += log.size
    exactly += log.exactly
    modified = max(modified, log.modified)
  }

  /// The file that a link leads to.
  private static func target(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }
}
