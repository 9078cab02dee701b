internal import BothyStore
internal import Foundation

/// A store that keeps entries in one SQLite file, and those of more than 96 KB in files beside it (`{path}-large`).
///
/// A hit takes one look-up by number. Equal small bodies are stored once, but each entry counts its own bytes. A
/// damaged database is quarantined and recreated.
package final class SQLiteBlobStore: IndexedBlobStore {
  /// The largest body in a row. A few larger ones fill the log, and files are read equally fast.
  static let largestRow = 96 << 10

  package let engine: IndexedStore

  /// Opens or creates the database at `path`. Creates the folder if needed.
  ///
  /// The cost does not depend on the number of entries, unless the limits are lower than before. Throws `BothyError`.
  package convenience init(path: String, options: BlobStoreOptions = BlobStoreOptions()) throws {
    try self.init(path: path, options: options, pageSize: 8192)
  }

  package init(path: String, options: BlobStoreOptions, pageSize: Int) throws {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty { try PrivateFolder.make(folder) }
    engine = try IndexedStore(
      folder: path + "-large", indexPath: path, lockPath: path + "-lock", largestRow: Self.largestRow,
      pageSize: pageSize, options: options)
    CacheFolder.exclude(path)
  }
}
