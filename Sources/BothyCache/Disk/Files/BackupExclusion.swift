#if !canImport(Darwin)
  /// A placeholder, because this system has no marks for backups. See `CacheFolder.tag`.
  enum BackupExclusion {
    static func set(_ path: String) {}
  }
#endif
