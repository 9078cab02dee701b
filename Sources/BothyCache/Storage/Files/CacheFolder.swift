internal import BothyStore
internal import Foundation

/// Where a cache lies unless it is told otherwise, and the marks that keep it out of backups.
public enum CacheFolder {
  /// The system's folder for caches, and in it one for the name: `~/Library/Caches` on Apple platforms,
  /// `$XDG_CACHE_HOME` or `~/.cache` on Linux. The system may empty it when it needs the room.
  ///
  /// - Parameter name: a file name, best the app's identifier.
  public static func standard(_ name: String) -> String {
    let base =
      FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first?.path
      ?? NSTemporaryDirectory()
    return base + "/" + name
  }

  /// What programs for backups look for (bford.info/cachedir): the folder's content can be made again.
  static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This folder is a cache of Bothy; it may be removed, and need not be backed up.

    """

  /// Marks a folder that is a cache's alone.
  static func mark(_ folder: String) throws {
    let path = folder + "/CACHEDIR.TAG"
    if FileBytes.size(path) == nil {
      do { try FileBytes.write(Array(path.utf8) + [0], Data(tag.utf8), []) } catch let error as StoreError
        where [.diskFull, .database].contains(error.code)
      {
        // Another process made it just now, or there is no room: the mark is a courtesy.
      }
    }
    exclude(folder)
  }

  /// Keeps a file or folder out of the system's own backups, where it can be told that.
  static func exclude(_ path: String) { BackupExclusion.set(path) }
}
