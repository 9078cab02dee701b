import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore

/// `bothy region list`: lists the regions with their progress.
struct RegionListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Prints the regions by name: the state of each, its tiles, and the stored ones.",
    discussion: """
      A region is waiting (nothing loaded yet), loading (by a process that runs),
      paused (by `bothy region pause` or an interrupt), interrupted (the network was
      gone, or the process), partial (some tiles failed), complete (all of it is
      there), outdated (all of it is there, but its last refresh was not finished, or
      another region's has changed its style), or damaged (it was complete, and tiles
      have gone from the disk).
      `bothy region resume` goes on with each.

      Example:  bothy region list --store ./bothy-cache --json
      """)

  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await store.withRegions(mayAsk: false) { regions in
      var rows: [(region: Region, stored: ResourceCache.Totals)] = []
      for region in try await regions.all() { rows.append((region, try await regions.stored(region.id))) }
      try output.print {
        var table = TextTable(["name", "source", "zooms", "state", "tiles", "stored", "bytes"])
        for (region, stored) in rows {
          let zooms = region.plan.zooms
          table.add([
            region.name, region.plan.source.name, "\(zooms.lowest)-\(zooms.highest)", region.state.rawValue,
            "\(region.tiles)", "\(stored.count)", "\(stored.bytes)",
          ])
        }
        return table.text(empty: "No regions. Make one with `bothy region create`.")
      } json: { writer in
        writer.list("regions", rows) { $1.region.write(to: &$0, stored: $1.stored) }
      }
    }
  }
}
