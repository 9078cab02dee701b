import ArgumentParser
import BothyCache
import BothyGeo
import Foundation

/// `bothy region`: manages parts of the map for use without a network.
struct RegionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "region",
    abstract: "Loads parts of a map ahead, and keeps, refreshes and exports them.",
    discussion: """
      Regions belong to a cache, --store. Their tiles are the cache's own, kept
      whatever its limits say; stored tiles are never loaded again, also after the
      process was killed. The source must allow it: `bothy source add --allow-bulk`,
      where its owner has agreed.

      Example:  bothy source add hills 'https://tiles.example.org/{z}/{x}/{y}.pbf' \\
                  --allow-bulk
                bothy region create Oslo hills --box 10.6,59.8,10.9,60 --zooms 0-14
                bothy region list
                bothy region refresh Oslo
                bothy region export Oslo oslo.pmtiles
                bothy region delete Oslo
      """,
    subcommands: [
      RegionCreateCommand.self, RegionListCommand.self, RegionResumeCommand.self, RegionPauseCommand.self,
      RegionRefreshCommand.self, RegionDeleteCommand.self, RegionExportCommand.self,
    ])
}

extension CacheStoreOptions {
  /// Opens the cache and its regions, runs `body` and closes both.
  func withRegions<Result>(
    mayAsk: Bool, makes: Bool = false, limits: RegionLimits = RegionLimits(), parallel: Int = 4,
    _ body: (OfflineRegions) async throws -> Result
  ) async throws -> Result {
    try await withCache(mayAsk: mayAsk, makes: makes) { cache, _ in
      let regions = try OfflineRegions(
        cache: cache, folder: URL(filePath: folder), limits: limits,
        policy: PrefetchPolicy(concurrentLoads: parallel))
      return try await Opened.use(regions, body, close: { try $0.close() })
    }
  }
}

extension OfflineRegions {
  /// Returns the region with a name. Throws `ToolError`, which lists the existing regions.
  func required(_ name: String) async throws -> Region {
    let all = try await all()
    guard let region = all.first(where: { $0.name == name }) else {
      let known = all.map(\.name).joined(separator: ", ")
      throw ToolError(
        "The region '\(name)' does not exist. Known: \(known.isEmpty ? "none" : known). Make one with "
          + "`bothy region create`."
      )
    }
    return region
  }

  /// Loads a region with progress on a terminal. An interrupt pauses it.
  func load(_ region: Region, isRefresh: Bool, removingGone: Bool = false) async throws -> Region {
    let line = ProgressLine()
    defer { line.clear() }
    let signals = Interrupts.signals()
    return try await withThrowingTaskGroup(of: Region?.self) { group in
      group.addTask {
        try await isRefresh
          ? self.refresh(region.id, removingGone: removingGone) : self.resume(region.id)
      }
      group.addTask {
        for await _ in signals { try await self.pause(region.id) }
        return nil
      }
      group.addTask {
        for await progress in self.progress(of: region.id) { line.show("\(region.name): \(progress.text)") }
        return nil
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let ended { return ended } }
      return region
    }
  }
}
