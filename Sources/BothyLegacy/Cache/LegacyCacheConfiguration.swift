public import BothyCache
public import Foundation

/// The cache configuration of route-me's property list, read with route-me's rules.
///
/// The list has `caches`, an array of `memory-cache` and `db-cache`. Of several caches of one type the last
/// counts.
///
/// - A memory cache has a `capacity` in tiles, which is 32 by default. Less than one counts as one.
/// - A database cache has a `capacity` in tiles, which is 1000 by default. 0 means unlimited, and a negative
///   one is ignored. Its `strategy` is `LRU` or `FIFO` in upper or lower case, by default FIFO.
///   `minimalPurge` is the number of entries that are evicted at a time: from one to the capacity, by default
///   a tenth of it.
/// - A number may also be text in decimal digits. An invalid number or an unknown word leaves the default,
///   and `problems` has it.
/// - An unknown type is ignored. Without the array, the configuration has a memory cache and a database cache
///   with default settings.
///
/// Bothy's own limits in bytes apply as well. Pass `settings` to a `ResourceCache`.
public struct LegacyCacheConfiguration: Sendable, Hashable {
  /// The limits in memory, or `nil` without a memory cache.
  package var memory: MemoryLimits?
  /// The limits on disk, or `nil` without a database cache.
  package var disk: DiskCache.Limits?
  /// True if the list places the file in the folder for caches. False without a database cache.
  ///
  /// It is the key `useCachesDirectory`, and has no effect by itself. The app chooses the folder when it
  /// opens its cache. On Apple's platforms the files of a cache are excluded from backups in every folder.
  public var wantsCachesDirectory: Bool
  /// The settings that were ignored, with the reasons, in the order of the list's caches.
  ///
  /// Empty if all settings were valid. Each has a `description` in one line, for logs.
  public var problems: [CacheSettings.Problem]

  /// Reads the configuration of a property list file.
  ///
  /// Reads the whole file and blocks the calling thread. A dictionary without `caches` gives the default
  /// caches.
  ///
  /// - Throws: the error from reading or parsing the file, or `BothyError` `invalidConfiguration` if it isn't
  ///   a dictionary.
  public init(contentsOf file: URL) throws {
    let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
    guard let dictionary = list as? [String: Any] else {
      throw BothyError(
        .invalidConfiguration, "\(file.lastPathComponent) isn't a property list with a dictionary.")
    }
    self.init(propertyList: dictionary)
  }

  /// Reads the configuration of a property list that is in memory.
  ///
  /// Throws nothing: `problems` has the settings that aren't valid. Other keys than `caches` are ignored
  /// without a problem. An empty array of caches gives neither of them.
  public init(propertyList: [String: Any]) {
    memory = nil
    disk = nil
    wantsCachesDirectory = false
    problems = []
    guard let caches = propertyList["caches"] as? [Any] else {
      if propertyList["caches"] != nil {
        note("caches", "It isn't an array, so the caches are those of a list without it.")
      }
      memory = Self.memory(count: 32)
      disk = disk([:], place: "caches")
      return
    }
    for (index, element) in caches.enumerated() {
      let place = "caches[\(index)]"
      guard let cache = element as? [String: Any], let type = cache["type"] as? String else {
        note("type", "The type is missing; it is memory-cache or db-cache.", place)
        continue
      }
      switch type.lowercased() {
      case "memory-cache": memory = Self.memory(count: max(1, number(cache, "capacity", place) ?? 32))
      case "db-cache":
        disk = disk(cache, place: place)
        wantsCachesDirectory = (cache["useCachesDirectory"] as? Bool) ?? false
      default: note("type", "\"\(type)\" is unknown; there are memory-cache and db-cache.", place)
      }
    }
  }

  /// The settings for a `ResourceCache`. Memory that the list doesn't have is switched off.
  ///
  /// Entries in memory also have the limit of 64 MiB, and entries on disk that of 512 MiB. Without a database
  /// cache the limit on disk is 512 MiB alone. Open the `ResourceCache` without a disk tier then.
  public var settings: CacheSettings {
    CacheSettings(memory: memory ?? MemoryLimits(bytes: 0), disk: disk ?? DiskCache.Limits())
  }

  private static func memory(count: Int) -> MemoryLimits {
    MemoryLimits(count: count, largestShare: 1, order: .leastRecentlyUsed)
  }

  private mutating func disk(_ cache: [String: Any], place: String) -> DiskCache.Limits {
    var capacity = 1000
    if let given = number(cache, "capacity", place) {
      if given >= 0 { capacity = given } else { note("capacity", "\(given) is negative; it is 1000.", place) }
    }
    var order = DiskCache.Limits.Order.firstIn
    if let strategy = cache["strategy"] as? String {
      switch strategy.uppercased() {
      case "LRU": order = .leastRecentlyUsed
      case "FIFO": order = .firstIn
      default: note("strategy", "\"\(strategy)\" is unknown; it is FIFO.", place)
      }
    }
    if capacity == 0 { return DiskCache.Limits(order: order) }
    var purge = max(1, capacity / 10)
    if let given = number(cache, "minimalPurge", place) {
      if (1...capacity).contains(given) {
        purge = given
      } else {
        note("minimalPurge", "\(given) is not from 1 to \(capacity); it is \(purge).", place)
      }
    }
    return DiskCache.Limits(count: capacity, order: order, slack: .minimalPurge(purge))
  }

  private mutating func number(_ cache: [String: Any], _ name: String, _ place: String) -> Int? {
    guard let value = cache[name] else { return nil }
    if let number = value as? Int { return number }
    if let text = value as? String, let number = Int(text) { return number }
    note(name, "\(value) isn't a whole number.", place)
    return nil
  }

  private mutating func note(_ key: String, _ reason: String, _ place: String = "the property list") {
    problems.append(CacheSettings.Problem(key: key, place: place, reason: reason))
  }
}
