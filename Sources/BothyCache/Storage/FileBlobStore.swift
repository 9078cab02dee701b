internal import BothyStore
internal import Foundation

/// A store that keeps each entry in a file of its own: `{folder}/tiledb/{source}/{path}`.
///
/// A hit takes one open, one read and one close. Other programs can open the files, because the bytes come first. An
/// index beside them (`index.sqlite`) has sizes, uses and pins. If it is lost, it is recreated from the files, with the
/// pins as far as they are readable. The disk rounds each file up to a block of 4 KB, which is counted.
package final class FileBlobStore: IndexedBlobStore {
  package let engine: IndexedStore

  /// Opens the store in `folder`. Creates the folder if needed. The store must be its only user.
  ///
  /// The cost does not depend on the number of entries, unless the limits are lower than before or the index is lost.
  /// Throws `BothyError`.
  package init(folder: String, options: BlobStoreOptions = BlobStoreOptions()) throws {
    try PrivateFolder.make(folder + "/tiledb")
    try CacheFolder.mark(folder)
    engine = try IndexedStore(
      folder: folder, indexPath: folder + "/index.sqlite", lockPath: folder + "/lock", largestRow: nil,
      pageSize: 4096, options: options)
  }
}
