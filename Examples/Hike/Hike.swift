import Bothy
import BothyGeo
import Foundation

/// A walk, the region of the map around it, and the places there.
struct Hike {
  /// The corners of the path, from the hostel to the hill.
  static let path = [
    (56.7600, -4.6905), (56.7628, -4.6820), (56.7661, -4.6742), (56.7702, -4.6690), (56.7745, -4.6611),
    (56.7790, -4.6570),
  ].map { Coordinate(latitude: $0.0, longitude: $0.1) }
  static let area = Area(west: -4.70, south: 56.755, east: -4.65, north: 56.782)
  static let zoom = 14

  let source: ResourceSource
  private let cache: ResourceCache
  private let regions: OfflineRegions
  let places: PlaceStore

  /// Opens the hike's folder.
  ///
  /// - Parameter loader: the way to the network, or `nil` to send no requests.
  init(folder: URL, server: String, loader: (any ResourceLoader)?) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    source = try ResourceSource(
      "hills", template: "\(server)/tiles/hills/{z}/{x}/{y}.json", userAgent: "Hike/1.0 (hike.example.org)",
      zooms: Self.zoom...Self.zoom, names: SourceNames(attribution: "Made up for this example"),
      allowsBulkDownload: true)
    cache = try ResourceCache(
      sources: [source], disk: .folder(folder.appending(path: "cache")), loader: loader)
    regions = try OfflineRegions(cache: cache, folder: folder.appending(path: "regions"))
    places = try PlaceStore(path: folder.appending(path: "places.sqlite").path)
  }

  /// Loads the region, and reads its places into their database.
  func load() async throws -> Region {
    let plan = OfflineRegions.Plan(
      name: "The walk", source: source.id, area: .box(Self.area.box),
      zooms: try ZoomRange(Self.zoom, Self.zoom))
    let known = try await regions.all().first { $0.plan == plan }
    let region: Region
    if let known { region = known } else { region = try await regions.create(plan) }
    let loaded = try await regions.resume(region.id)
    for tile in try Tile.covering(Self.area.box, zoom: Self.zoom) {
      var bytes: Data?
      do {
        bytes = try await cache.value(source.key(tile), policy: .local).bytes
      } catch {
        // A tile that failed to load is missing, which the state of the region says.
        guard error.code == .notCached else { throw error }
      }
      guard let bytes else { continue }
      try places.replace(tile, payload: bytes, receivedAt: Int64(Date().timeIntervalSince1970 * 1000))
    }
    return loaded
  }

  /// A stretch of the walk, with the named places near its end.
  struct Stretch {
    /// The metres from the start.
    let distance: Double
    let places: [NearbyPlace]
  }

  /// Returns the corners of the path with the places within 150 metres of each.
  func stretches() throws -> [Stretch] {
    var distance = 0.0
    return try Self.path.indices.map { number in
      if number > 0 { distance += Self.path[number - 1].distance(to: Self.path[number]) }
      return Stretch(distance: distance, places: try places.within(radius: 150, of: Self.path[number]))
    }
  }

  /// Draws the area: water, roads and paths, places, and the walk above them.
  func picture(width: Int) throws -> Picture {
    var picture = Picture(area: Self.area, width: width)
    let features = try places.in(box: Self.area.box, .everything)
    for case .polygon(let polygon) in features.map(\.geometry) { picture.fill(polygon.exterior, .water) }
    for case .lineString(let line) in features.map(\.geometry) { picture.draw(line, .way) }
    picture.draw(Self.path, .walk, width: 3)
    for feature in features where feature.name != nil && feature.layer == .poi {
      picture.mark(feature.center, .place)
    }
    return picture
  }

  func close() async throws {
    try regions.close()
    try places.close()
    try await cache.close()
  }
}
