#if canImport(Darwin)
  internal import Foundation

  /// The mark that keeps a file or folder out of iCloud's and Time Machine's backups.
  enum BackupExclusion {
    /// A file that is not there yet gets no mark; it lies in the caches' folder, which is not backed up anyway.
    static func set(_ path: String) {
      var url = URL(fileURLWithPath: path)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)  // a courtesy to the backup; nothing depends on it
    }
  }
#endif
