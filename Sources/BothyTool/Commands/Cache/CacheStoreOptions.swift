import ArgumentParser
import BothyCache
import BothyHTTP
import Foundation

/// The option for the folder of a cache, and functions that open it.
struct CacheStoreOptions: ParsableArguments {
  @Option(
    name: .customLong("store"),
    help: ArgumentHelp("The folder that keeps the copies.", valueName: "dir"), completion: .directory)
  var folder = "./bothy-cache"
  @Flag(
    name: .customLong("files"),
    help: "Keep each copy of a new folder in a file of its own, which other programs can open.")
  var inFiles = false

  /// Creates the options for a folder that exists.
  static func existing(_ folder: String) -> CacheStoreOptions {
    var options = CacheStoreOptions()
    (options.folder, options.inFiles) = (folder, false)
    return options
  }

  /// The place of the copies: as the folder has them already. In a new one they are in a database, as in those of apps.
  /// There equal tiles are stored once, and small ones take no block of the disk each.
  private var tier: DiskCache {
    let place = URL(filePath: folder)
    // The lock of a database stays if the database itself is lost.
    let isDatabase = has("cache.sqlite") || has("cache.sqlite-lock")
    let isOfFiles = has("index.sqlite") || has("tiledb") || inFiles
    return isOfFiles && !isDatabase ? .folder(place) : .sqliteFile(in: place)
  }

  /// True if the folder has an index of copies.
  var hasIndex: Bool { has("index.sqlite") || has("cache.sqlite") }

  private func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(name)") }

  /// Returns the folder's list of sources and limits, or an empty one if it doesn't exist yet.
  func sources() throws -> SourceList { try SourceList.load(folder: folder) }

  /// Opens the cache with its sources, runs `body` and closes the cache in any case.
  ///
  /// - Parameters:
  ///   - mayAsk: true if the cache may use the network.
  ///   - makes: true if a missing cache is created. Otherwise it is an error.
  func withCache<Result>(
    mayAsk: Bool, makes: Bool, _ body: (ResourceCache, SourceList) async throws -> Result
  ) async throws -> Result {
    if !makes { try requireStore() }
    let list = try sources()
    let cache = try open(list, loader: mayAsk ? HTTPLoader.system : nil)
    return try await Opened.use(cache, { try await body($0, list) }, close: { try await $0.close() })
  }

  /// Returns the existing cache of the folder without network access, and its list of sources. The caller must close
  /// it.
  func existing() throws -> (SourceList, ResourceCache) {
    try requireStore()
    let list = try sources()
    return (list, try open(list, loader: nil))
  }

  /// Returns the cache of the folder with its limits, and creates it if needed.
  func open(_ list: SourceList, loader: (any ResourceLoader)?) throws -> ResourceCache {
    let clock = try CLIClock()
    return try ResourceCache(
      sources: try list.sources.map { try $0.source() }, settings: CacheSettings(disk: list.diskLimits),
      disk: tier, loader: loader,
      clock: LoadClock(ContinuousClock(), wall: { clock.now() }))
  }

  /// Opens the disk store of the cache without the cache, runs `body` and closes the store.
  func withDisk<Result>(
    _ list: SourceList, _ body: (any DiskCache.Store) async throws -> Result
  ) async throws -> Result {
    let disk = try tier.open(limits: list.diskLimits, for: list.sources.map { try $0.source() })
    return try await Opened.use(disk, body, close: { try $0.close() })
  }

  private func requireStore() throws {
    // A lost index is recreated from the copies, and the pins of regions from their own list.
    guard hasIndex || has("regions.sqlite") || has("tiledb") else {
      throw ToolError("\(folder) has no cache. Give its folder with --store, or fill one with get.")
    }
  }
}
