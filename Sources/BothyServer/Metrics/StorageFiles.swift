import Foundation

/// The files of a server's storage, whose sizes `/metrics` prints, with the free space of their disks.
///
/// A file that doesn't exist or can't be read has no metric.
public struct StorageFiles: Sendable, Hashable {
  /// The path of the SQLite file, or `nil` for another storage. Its log is found beside it.
  public var database: String?
  /// The folder of the blobs, or `nil`. Only the free space of its disk is printed.
  public var blobs: String?

  /// Creates the value. It reads nothing.
  public init(database: String? = nil, blobs: String? = nil) {
    self.database = database
    self.blobs = blobs
  }

  /// The sizes of the SQLite file and of its log. Costs two look-ups in the file system.
  var sizes: [(file: String, bytes: Int64)] {
    guard let database, let data = FileVersion(path: database) else { return [] }
    return [("data", data.size), ("log", FileVersion(path: database + "-wal")?.size ?? 0)]
  }

  /// The free bytes on the disk of each. Costs two look-ups in the file system.
  var free: [(place: String, bytes: Int64)] {
    [("database", database), ("blobs", blobs)].compactMap { place, path in
      path.flatMap(Self.free).map { (place, $0) }
    }
  }

  /// Returns the free bytes on the disk of a path, or of its folder if it doesn't exist yet.
  private static func free(at path: String) -> Int64? {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    for place in [path, folder] {
      // A place that can't be read has no metric.
      let attributes = try? FileManager.default.attributesOfFileSystem(forPath: place)
      if let size = attributes?[.systemFreeSize] as? NSNumber { return size.int64Value }
    }
    return nil
  }
}
