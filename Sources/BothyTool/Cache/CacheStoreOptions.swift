import ArgumentParser
import BothyCache
import Foundation

/// The folder of a cache: which one it is, and what is opened in it.
struct CacheStoreOptions: ParsableArguments {
  @Option(
    name: .customLong("store"),
    help: ArgumentHelp("The folder that keeps the copies.", valueName: "dir"), completion: .directory)
  var folder = "./bothy-cache"

  /// What the folder's list of sources and limits says; an empty one when there is none yet.
  func sources() throws -> SourceList { try SourceList.load(folder: folder) }

  /// Opens the cache with its sources, runs `body` and closes it, whatever happens.
  ///
  /// - Parameters:
  ///   - mayAsk: whether there is a way to the network.
  ///   - makes: whether a cache that is not there is made; else that is an error.
  func withCache<Result>(
    mayAsk: Bool, makes: Bool, _ body: (ResourceCache, SourceList) async throws -> Result
  ) async throws -> Result {
    if !makes { try requireStore() }
    let list = try sources()
    let cache = try open(list, loader: mayAsk ? Loaders.make() : nil)
    let result: Result
    do { result = try await body(cache, list) } catch {
      // The first error is the one to tell of.
      try? await cache.close()
      throw error
    }
    try await cache.close()
    return result
  }

  /// The cache that is in the folder, with no way to the network, and its list of sources. To be closed by the caller.
  func existing() throws -> (SourceList, ResourceCache) {
    try requireStore()
    let list = try sources()
    return (list, try open(list, loader: nil))
  }

  /// The cache in the folder, which is made if need be, under the limits set for it.
  func open(_ list: SourceList, loader: (any ResourceLoader)?) throws -> ResourceCache {
    let clock = try ToolClock()
    return try ResourceCache(
      sources: try list.sources.map { try $0.source() }, settings: CacheSettings(disk: list.diskLimits),
      disk: .files(in: URL(filePath: folder)), loader: loader,
      clock: LoadClock(ContinuousClock(), wall: { clock.now() }))
  }

  /// Opens what keeps the entries of that cache, without a cache in front of it, runs `body` and closes it.
  func withDisk<Result>(
    _ list: SourceList, _ body: (FileBlobStore) async throws -> Result
  ) async throws -> Result {
    let disk = try FileBlobStore(folder: folder, options: BlobStoreOptions(limits: list.diskLimits))
    let result: Result
    do { result = try await body(disk) } catch {
      // The first error is the one to tell of.
      try? disk.close()
      throw error
    }
    try disk.close()
    return result
  }

  private func requireStore() throws {
    // A lost index is made anew from the copies, and what regions hold from their own list.
    let signs = ["index.sqlite", "regions.sqlite", "tiledb"]
    guard signs.contains(where: { FileManager.default.fileExists(atPath: "\(folder)/\($0)") }) else {
      throw ToolError("There is no cache in \(folder). Give its folder with --store, or fill one with get.")
    }
  }
}
