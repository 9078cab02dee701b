import BothyCache
import BothyGeo
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Damaged tiles of regions", .timeLimit(.minutes(5)))
struct RegionDamageTests {
  /// Changes a byte of a stored tile, whose size stays the same.
  private func damage(_ region: Region, _ rig: RegionRig, _ index: String, inFiles: Bool) throws {
    var (path, place) = (index, Data.Index?.none)
    if inFiles {
      let folder = rig.scratch.url("tiledb")
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
      let file = try files?.compactMap { $0 as? URL }.first {
        try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
      }
      (path, place) = (try #require(file).path, 5)
    } else {
      let bytes = try Data(contentsOf: URL(filePath: index))
      for tile in try region.plan.tiles() where place == nil {
        place = bytes.range(of: RegionServer.tile("\(tile) v1")).map { $0.lowerBound + 5 }
      }
    }
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[try #require(place)] ^= 0x01
    try bytes.write(to: URL(filePath: path))
  }

  @Test("A damaged tile makes its region damaged after a kill, before any read", arguments: [true, false])
  func killed(inFiles: Bool) async throws {
    var rig = try RegionRig(inFiles: inFiles)
    let region = try await rig.loaded()
    let before = rig
    rig = try await rig.reopened { try damage(region, before, $0, inFiles: inFiles) }
    // The cache was closed, so that nothing is read.
    await rig.cache.checked()
    #expect(try await rig.regions.region(region.id).state == .complete)
    try await rig.cache.pin([rig.source.key(zoom: 15, x: 1, y: 1)], by: "hut")
    rig = try rig.killed()
    await rig.cache.checked()
    let seen = try await rig.regions.region(region.id)
    #expect(seen.state == .damaged && seen.reason?.hasPrefix("1 of its") == true)
    #expect(rig.cache.counters["trails"]?.corrupt == 1 && rig.server.requests.isEmpty)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == 1)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }
}
