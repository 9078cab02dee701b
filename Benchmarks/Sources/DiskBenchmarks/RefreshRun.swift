import Bars
import BothyCache
import BothyGeo
import Foundation
import HTTPTypes

/// The bytes that the refresh of an offline region writes for each tile if the server confirms all of them.
///
/// It has one request at a time, so that no two confirmations share a transaction by chance. The run writes those of many
/// tiles together, to the cache and to the list of regions.
struct RefreshRun {
  private let options: Options
  private let folder: URL

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = URL(filePath: folder + "/refresh")
  }

  func bars() async throws -> [Bar] {
    let source = try ResourceSource(
      Tiles.source, template: "https://tile.example/{z}/{x}/{y}", userAgent: "bench", allowsBulkDownload: true
    )
    let cache = try ResourceCache(
      sources: [source], settings: CacheSettings(disk: DiskCache.Limits(bytes: nil)),
      disk: .sqliteFile(in: folder), loader: UnchangedServer())
    let regions = try OfflineRegions(cache: cache, folder: folder)
    var (highest, tiles) = (0, 1)
    while tiles < options.tiles { (highest, tiles) = (highest + 1, tiles * 4 + 1) }
    let region = try await regions.create(
      OfflineRegions.Plan(
        name: "World", source: Tiles.source,
        area: .box(GeoBox(west: -180, south: -85, east: 180, north: 85)), zooms: try ZoomRange(0, highest)))
    let loaded = try await regions.resume(region.id)
    guard loaded.state == .complete else {
      throw BenchmarkError(
        "the region could not be loaded: \(loaded.state), \(loaded.reason ?? "\(loaded.progress)")")
    }
    regions.setPolicy(PrefetchPolicy(concurrentLoads: 1))
    let before = SizeRun.written()
    let done = try await regions.refresh(region.id)
    let bytes = SizeRun.written() - before
    guard done.state == .complete, done.progress.total == tiles, done.progress.bytesLoaded == 0 else {
      throw BenchmarkError("the refresh did not confirm \(tiles) tiles: \(done.progress)")
    }
    try regions.close()
    try await cache.close()
    print("a refresh of \(tiles) tiles without changes wrote \(bytes / Int64(tiles)) bytes for each")
    guard bytes > 0 else { return [] }
    return [
      Bar(
        claim: "region: bytes of a refresh of \(tiles) tiles without changes, for each",
        measured: Double(bytes) / Double(tiles), limit: 10_000, unit: "B")
    ]
  }
}

/// A server in this process that has one version of each tile.
private struct UnchangedServer: ResourceLoader {
  func load(_ request: ResourceRequest) async throws -> ResourceResponse {
    let isKnown = request.fields[.ifNoneMatch] == "\"1\""
    let number = request.url.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF }
    return ResourceResponse(
      status: isKnown ? 304 : 200,
      fields: [
        .eTag: "\"1\"", .contentType: "image/png", .cacheControl: "max-age=604800",
      ],
      body: AsyncThrowingStream { stream in
        if !isKnown { stream.yield(Coast.picture(number, size: 2000)) }
        stream.finish()
      })
  }
}
