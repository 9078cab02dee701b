import Bars
import BothyGeo
import BothyStore
import CSpatial
import Foundation

/// A million places from tiles, and the 20 nearest of them. Bothy alternates with SpatiaLite in one process, and
/// SpatiaLite runs in its fastest way.
struct PlacesRun {
  private let options: Options
  private let folder: String
  private let country: Country
  private static let wanted = 20

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder
    country = Country(places: options.places)
  }

  func bars() throws -> [Bar] {
    let places = try PlaceStore(path: folder + "/places.sqlite")
    try load(places)
    let other = try Spatial(folder + "/spatial.sqlite")
    try other.load(country)
    var times: [[Double]] = [[], [], []]
    // Bothy's time divided by that of each of SpatiaLite's ways.
    var ratios: [[Double]] = [[], []]
    for (place, question) in country.questions(options.questions).enumerated() {
      var ours: [Int64] = []
      let mine = try seconds {
        ours = try places.nearest(Self.wanted, to: question).compactMap { $0.feature.ids.first }
      }
      guard ours.count == Self.wanted else { throw BenchmarkError("\(ours.count) places were found") }
      var theirs: [Int64] = []
      let box = try seconds { theirs = try other.nearestByBox(Self.wanted, question) }
      // SpatiaLite's ellipsoid differs a little from Bothy's, so the last results may differ, but not the first.
      guard ours.first == theirs.first else {
        throw BenchmarkError("\(question): \(ours.prefix(3)) here, \(theirs.prefix(3)) there")
      }
      times[0].append(mine * 1000)
      times[2].append(box * 1000)
      ratios[1].append(mine / box)
      // This way is so slow that some queries are enough.
      guard place % 20 == 0 else { continue }
      let knn = try seconds { _ = try other.nearest(Self.wanted, question) }
      times[1].append(knn * 1000)
      ratios[0].append(mine / knn)
    }
    for (name, time) in zip(["Bothy", "\(other.name), KNN", "\(other.name), R-tree and sort"], times) {
      print("\(Self.wanted) nearest of \(country.count), \(name): p50 \((time.median ?? 0).short) ms")
    }
    try places.close()
    return [
      Bar(
        claim: "\(Self.wanted) nearest of \(country.count) places, p50", measured: times[0].median ?? 0,
        limit: 0.5, unit: "ms"),
      Bar(
        claim: "\(Self.wanted) nearest: Bothy / SpatiaLite's faster way, median of pairs",
        measured: ratios.compactMap(\.median).max() ?? 0, limit: 1),
    ]
  }

  /// Stores the places as tiles of zoom 12, in the order of the map.
  private func load(_ places: PlaceStore) throws {
    var tiles: [Tile: [Int]] = [:]
    for number in 0..<country.count {
      let position = Coordinate(
        latitude: country.latitudes[number], longitude: country.longitudes[number])
      tiles[try Tile(containing: position, zoom: 12), default: []].append(number)
    }
    var bytes = 0
    var spent = 0.0
    for (tile, numbers) in tiles.sorted(by: { $0.key < $1.key }) {
      var text = ""
      for number in numbers {
        TileText.append(
          point: number, country.longitudes[number], country.latitudes[number], to: &text)
      }
      let payload = TileText.collection(text)
      bytes += payload.count
      spent += try seconds { try places.replace(tile, payload: payload, receivedAt: 1) }
    }
    let world = GeoBox(west: -180, south: -90, east: 180, north: 90)
    let held = try places.in(box: world, .everything).count
    guard held == country.count else { throw BenchmarkError("\(held) places are held") }
    print(
      "\(tiles.count) tiles brought in: \((spent / Double(country.count) * 1e6).short) us a place,",
      "\((Double(bytes) / 1e6 / spent).short) MB/s")
  }
}

/// The places in SpatiaLite.
private final class Spatial {
  private let store: OpaquePointer

  init(_ path: String) throws {
    guard let store = spatial_open(path) else {
      throw BenchmarkError("SpatiaLite cannot be loaded. Install libsqlite3-mod-spatialite.")
    }
    self.store = store
  }

  deinit { spatial_close(store) }

  var name: String { "SpatiaLite " + String(cString: spatial_version(store)) }

  private func failure() -> BenchmarkError {
    BenchmarkError("SpatiaLite: " + String(cString: spatial_message(store)))
  }

  func load(_ country: Country) throws {
    let spent = try seconds {
      guard
        spatial_insert(store, 1, country.longitudes, country.latitudes, Int64(country.count))
          == country.count,
        spatial_index(store) == 0
      else { throw failure() }
    }
    print("SpatiaLite, rows and index: \((spent / Double(country.count) * 1e6).short) us a place")
  }

  func nearest(_ count: Int, _ position: Coordinate) throws -> [Int64] {
    var ids = [Int64](repeating: 0, count: count)
    let found = spatial_nearest_knn(store, position.longitude, position.latitude, Int64(count), &ids)
    guard found >= 0 else { throw failure() }
    return Array(ids.prefix(Int(found)))
  }

  /// Searches boxes of growing size, like its users do, until one has the wanted number. Places beside the box but
  /// nearer than its corners are overlooked, in SpatiaLite's favor.
  func nearestByBox(_ count: Int, _ position: Coordinate) throws -> [Int64] {
    var ids = [Int64](repeating: 0, count: count)
    var degrees = 0.005
    while true {
      let width = degrees / cos(position.latitude * .pi / 180)
      let found = spatial_nearest_box(
        store, position.longitude, position.latitude, width, degrees, Int64(count), &ids)
      guard found >= 0 else { throw failure() }
      if found == count || degrees > 20 { return Array(ids.prefix(Int(found))) }
      degrees *= 2
    }
  }
}
