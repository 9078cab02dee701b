#if !canImport(Darwin)
  /// This system keeps no marks of what to back up; see `CacheFolder.tag`.
  enum BackupExclusion {
    static func set(_ path: String) {}
  }
#endif
