public import BothyCache
public import Foundation

extension ResourceCache {
  /// Opens or creates a cache in a folder, with the system's HTTP client. Blocks while the folder is opened.
  ///
  /// ```swift
  /// import Bothy
  /// import BothyCache
  ///
  /// let cache = try ResourceCache()
  /// let menu = try await cache.value(Menu.self, at: menuURL)
  /// ```
  ///
  /// - Parameters:
  ///   - folder: A folder for this cache alone. `nil` uses `Bothy` in the app's caches folder, which the system may empty.
  ///   - memory: The largest number of bytes in memory.
  ///   - disk: The largest number of bytes on disk. Pinned entries don't count, and are never deleted for space.
  /// - Throws: `BothyError` if the folder can't be used.
  public convenience init(in folder: URL? = nil, memory: Int = 32 << 20, disk: Int64 = 256 << 20) throws {
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    let folder = folder ?? (caches ?? FileManager.default.temporaryDirectory).appending(path: "Bothy")
    try self.init(
      settings: CacheSettings(memory: MemoryLimits(bytes: memory), disk: DiskCache.Limits(bytes: disk)),
      disk: .sqliteFile(in: folder), loader: .system)
  }
}
