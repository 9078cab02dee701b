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
    let result: Result
    do { result = try await body(cache, list) } catch {
      // The first error is the one to report.
      try? await cache.close()
      throw error
    }
    try await cache.close()
    return result
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
      disk: .files(in: URL(filePath: folder)), loader: loader,
      clock: LoadClock(ContinuousClock(), wall: { clock.now() }))
  }

  /// Opens the disk store of the cache without the cache, runs `body` and closes the store.
  func withDisk<Result>(
    _ list: SourceList, _ body: (DiskStore) async throws -> Result
  ) async throws -> Result {
    let disk = try DiskStore(folder: folder, options: BlobStoreOptions(limits: list.diskLimits))
    let result: Result
    do { result = try await body(disk) } catch {
      // The first error is the one to report.
      try? disk.close()
      throw error
    }
    try disk.close()
    return result
  }

  private func requireStore() throws {
    // A lost index is recreated from the copies, and the pins of regions from their own list.
    let signs = ["index.sqlite", "regions.sqlite", "tiledb"]
    guard signs.contains(where: { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }) else {
      throw ToolError("\(folder) has no cache. Give its folder with --store, or fill one with get.")
    }
  }
}
