internal import BothyStore
internal import Foundation

/// The default folder of a cache, and the marks that exclude it from backups.
package enum CacheFolder {
  /// Returns a folder in the system's folder for caches, which the system may empty when it needs space.
  ///
  /// It is `~/Library/Caches` on Apple platforms, and `$XDG_CACHE_HOME` or `~/.cache` on Linux.
  ///
  /// - Parameter name: a file name, best the app's identifier.
  package static func standard(_ name: String) -> String {
    let base =
      FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first?.path
      ?? NSTemporaryDirectory()
    return base + "/" + name
  }

  /// The mark for backup programs (bford.info/cachedir). It says that the folder's content can be recreated.
  static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This folder is a cache of Bothy; it may be removed, and need not be backed up.

    """

  /// Marks a folder that only a cache uses.
  static func mark(_ folder: String) throws {
    let path = folder + "/CACHEDIR.TAG"
    if FileBytes.size(path) == nil {
      do { try FileBytes.write(Array(path.utf8) + [0], Data(tag.utf8), []) } catch let error as BothyError
        where [.diskFull, .database].contains(error.code)
      {
        // Another process just created it, or the disk is full. The mark is a courtesy.
      }
    }
    exclude(folder)
  }

  /// Excludes a file or folder from the system's own backups, where that is possible.
  static func exclude(_ path: String) { BackupExclusion.set(path) }
}
