import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Archives in a style", .timeLimit(.minutes(5)))
struct StyleArchiveTests {
  private static let document = #""url": "https://maps.test/tiles/omt.json""#
  private static let remote = #""url": "pmtiles://https://maps.test/omt.pmtiles""#

  /// Returns the servers of a style whose vector tiles are described by a member of their own.
  private func server(_ member: String, _ archive: ArchiveServer? = nil) -> StyleServer {
    let server = StyleServer()
    server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing(Self.document, with: member)
      if let archive { state.archives["https://maps.test/omt.pmtiles"] = archive }
    }
    return server
  }

  /// Returns what a renderer receives for a tile of the archive, as text.
  private func tile(_ style: MapStyle, in cache: ResourceCache) async -> String {
    let answer = await MapEndpoint(style, in: cache).answer("tiles/openmaptiles/3/4/2", at: "http://map.test")
    return answer.status == .ok ? RegionServer.text(answer.body) : "\(answer.status)"
  }

  /// Promises: A-76
  @Test(
    "A map with a remote archive is drawn offline from a region",
    arguments: [Self.remote, #""tiles": ["pmtiles://https://maps.test/omt.pmtiles/{z}/{x}/{y}"]"#])
  func offline(_ member: String) async throws {
    let archive = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<85)))
    let rig = try StyleRig(server(member, archive))
    let region = try await rig.loaded("bright")
    #expect(region.state == .complete && region.progress.absent == 0)
    let asked = archive.requests.count
    #expect(asked > 0)
    let later = try await rig.reopened()
    later.cache.suspendNetwork()
    let style = try await later.style("bright")
    var walk = StyleWalk(MapEndpoint(style, in: later.cache))
    try await walk.walk(RegionRig.oslo, 0...11, fonts: ["Noto Sans Bold", "Noto Sans Regular"])
    #expect(walk.missing == [])
    #expect(archive.requests.count == asked && later.server.requests == [])
    let place = try Tile(x: 4, y: 2, zoom: 3)
    #expect(await tile(style, in: later.cache) == MadeArchive.text(place))
    #expect(style.attributions(in: RegionRig.oslo, zoom: 3).contains("© walkers"))
  }

  /// Promises: A-76
  @Test("A refresh brings the tiles of a replaced archive")
  func replaced() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let archive = ArchiveServer(try MadeArchive.data(tiles))
    let rig = try StyleRig(server(Self.remote, archive))
    let region = try await rig.loaded("bright")
    archive.replace(try MadeArchive.data(tiles, version: "2"), tag: "\"2\"")
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    rig.cache.suspendNetwork()
    let place = try Tile(x: 4, y: 2, zoom: 3)
    let style = try await rig.style("bright")
    #expect(await tile(style, in: rig.cache) == MadeArchive.text(place, "2"))
  }

  /// Promises: A-76
  @Test("A file in a style is one that the app registered")
  func file() async throws {
    let scratch = try TemporaryFolder()
    let path = scratch.file("omt.mbtiles")
    try MadeArchive.write(MadeArchive.tiles(0..<85), to: path, as: .mbtiles)
    let rig = try StyleRig(server(#""url": "mbtiles://\#(path)""#))
    let error = await #expect(throws: BothyError.self) { try await rig.style("bright") }
    #expect(error?.code == .invalidSource && error?.message.contains("bright/openmaptiles") == true)
    try rig.cache.register(ResourceSource("bright/openmaptiles", archive: path))
    let region = try await rig.loaded("bright")
    #expect(region.state == .complete)
    #expect(try Array(region.plan.keys()).allSatisfy { $0.source != "bright/openmaptiles" })
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    rig.cache.suspendNetwork()
    let style = try await rig.style("bright")
    let place = try Tile(x: 4, y: 2, zoom: 3)
    #expect(await tile(style, in: rig.cache) == MadeArchive.text(place))
    let endpoint = MapEndpoint(style, in: rig.cache)
    let answer = await endpoint.answer("sources/openmaptiles.json", at: "http://map.test")
    let document = try JSONValue(parsing: answer.body)
    #expect(document["maxzoom"]?.intValue == 3)
    #expect(document["attribution"]?.stringValue == "© walkers")
  }
}
