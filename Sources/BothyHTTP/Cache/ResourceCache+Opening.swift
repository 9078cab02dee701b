public import BothyCache
public import Foundation

extension ResourceCache {
  /// Opens or creates a cache in a folder, with the system's HTTP client. Blocks while the folder is opened.
  ///
  /// ```swift
  /// let cache = try ResourceCache()
  /// let menu = try await cache.value(Menu.self, at: url)
  /// ```
  ///
  /// - Parameters:
  ///   - folder: A folder for this cache alone. `nil` uses `Bothy` in the app's caches folder, which the system may empty.
  ///   - limits: The sizes to which the cache is bounded.
  /// - Throws: `BothyError` if the folder can't be used.
  public convenience init(in folder: URL? = nil, limits: CacheLimits = CacheLimits()) throws {
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    let folder = folder ?? (caches ?? FileManager.default.temporaryDirectory).appending(path: "Bothy")
    try self.init(
      settings: CacheSettings(
        memory: MemoryLimits(bytes: limits.memory), disk: BlobStoreLimits(bytes: limits.disk)),
      disk: .files(in: folder), loader: .system)
  }
}
