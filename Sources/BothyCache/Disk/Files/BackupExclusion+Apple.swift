#if canImport(Darwin)
  internal import Foundation

  /// The mark that excludes a file or folder from iCloud's and Time Machine's backups.
  enum BackupExclusion {
    /// Marks a file or folder. A missing file gets no mark, but its folder for caches isn't backed up anyway.
    static func set(_ path: String) {
      var url = URL(fileURLWithPath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)  // a courtesy to the backup; no code depends on it
    }
  }
#endif
