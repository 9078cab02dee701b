import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite("The file of the places", .timeLimit(.minutes(5)))
struct PlaceDatabaseTests {
  private let scratch: TemporaryFolder
  private let tile: Tile

  init() throws {
    scratch = try TemporaryFolder()
    tile = try Tile(containing: Coordinate(latitude: 43.462, longitude: -80.52), zoom: 16)
  }

  private var path: String { scratch.file("places.sqlite") }

  private func version(_ features: String..., at time: Int64, tag: String? = nil) -> PlaceTile {
    let text = "{\"type\": \"FeatureCollection\", \"features\": [\(features.joined(separator: ", "))]}"
    return PlaceTile(tile, payload: Data(text.utf8), receivedAt: time, entityTag: tag)
  }

  private func cafe(_ id: Int, _ name: String) -> String {
    TileDocument.feature(
      "amenity", "cafe", ids: "[\(id)]", properties: #"{"amenity": "cafe", "name": "\#(name)"}"#)
  }

  @Test("Reads during a close on another thread complete or throw")
  func closing() async throws {
    for round in 0..<20 {
      let places = try PlaceStore(path: scratch.file("\(round).sqlite"))
      let readers = (0..<3).map { _ in
        Task.detached { [tile] in
          do {
            while true {
              _ = try places.tile(tile)
              await Task.yield()
            }
          } catch { return error is BothyError }
        }
      }
      for _ in 0..<round { await Task.yield() }
      try places.close()
      for reader in readers { #expect(await reader.value) }
    }
  }

  /// Promises: T-14, E-18
  @Test("A tile is stored as received, with times and validators, also without features")
  func kept() throws {
    let places = try PlaceStore(path: path)
    #expect(try places.tile(tile) == nil)
    var version = version(at: 5, tag: "\"a\"")
    #expect(try places.replace(version) == .added)
    #expect(try places.tile(tile) == version)
    #expect(try places.replace(version) == .unchanged)
    #expect(try places.renew(tile, at: 9, lastModified: "yesterday"))
    version.validatedAt = 9
    version.lastModified = "yesterday"
    #expect(try places.tile(tile) == version && places.held([tile]) == [tile: 9])
    #expect(try places.renew(Tile(x: 0, y: 0, zoom: 16), at: 9) == false)
    #expect(version.isFresh(at: 9 + PlaceTile.defaultLifetime - 1))
    #expect(!version.isFresh(at: 9 + PlaceTile.defaultLifetime) && !version.isFresh(at: 8))
    #expect(!version.isFresh(at: 20, lifetime: 10))
    try places.replace(tile, payload: version.payload, receivedAt: 12)
    #expect(try places.payload(of: tile) == version.payload && places.tile(tile)?.receivedAt == 12)
  }

  /// Promises: E-17, B-14
  @Test(
    "A new version deletes its missing features, and an old or broken one nothing"
  )
  func replaced() throws {
    let places = try PlaceStore(path: path)
    try places.replace(version(cafe(1, "Alpha"), cafe(2, "Beta"), at: 5))
    #expect(try places.replace(version(cafe(2, "Gamma"), at: 6)) == .updated)
    for _ in 0..<2 {
      #expect(try places.features(FeatureKey(.poi, "1")) == [] && places.search("alpha") == [])
      #expect(try places.search("beta") == [])
      #expect(try places.in(box: .world).map(\.name) == ["Gamma"])
      #expect(try places.replace(version(cafe(1, "Alpha"), at: 4)) == .outdated)
      #expect(throws: BothyError.self) {
        try places.replace(PlaceTile(tile, payload: Data("<html>".utf8), receivedAt: 7))
      }
    }
    #expect(try places.counts() == (1, 1))
  }

  /// Promises: T-18, B-14
  @Test("A tile that can't be written completely leaves the old one complete")
  func atomic() throws {
    let places = try PlaceStore(path: path)
    let old = version(cafe(1, "Alpha"), at: 5)
    try places.replace(old)
    let queue = try DatabaseQueue(path: path)
    try queue.write {
      try $0.execute(
        sql: """
          CREATE TRIGGER full BEFORE INSERT ON feature WHEN new.key = '3'
          BEGIN SELECT raise(ABORT, 'no room'); END
          """)
    }
    #expect(throws: BothyError.self) {
      try places.replace(version(cafe(2, "Beta"), cafe(3, "Gamma"), at: 6))
    }
    #expect(try places.tile(tile) == old && places.in(box: .world).map(\.name) == ["Alpha"])
    #expect(try places.search("beta") == [])
  }

  /// Promises: T-20, B-16
  @Test("Entrances are found by their building, named or not, of several tiles")
  func entrances() throws {
    let ring = TileDocument.shape("Polygon", "[[[0, 0], [0.001, 0], [0.001, 0.001], [0, 0]]]")
    func building(_ id: Int, _ properties: String) -> String {
      TileDocument.feature("building", "yes", ids: "[\(id)]", geometry: ring, properties: properties)
    }
    func list(_ ids: String) -> String {
      let points = TileDocument.shape("MultiPoint", "[[0, 0], [0.001, 0]]")
      return TileDocument.feature("gd_entrance_list", "yes", ids: ids, geometry: points)
    }
    let named = building(-20, #"{"building": "yes", "name": "Town hall"}"#)
    let nameless = building(-10, #"{"building": "yes"}"#)
    var places = try PlaceStore(path: path)
    try places.replace(version(nameless, list("[-10, 5, 6]"), named, list("[-20, 8, 9]"), at: 5))
    let beside = TileDocument.tile(nameless, list("[-10, 7]"))
    let neighbor = try #require(tile.neighbor(east: 1, south: 0))
    try places.replace(PlaceTile(neighbor, payload: Data(beside.utf8), receivedAt: 5))
    for _ in 0..<2 {
      #expect(try places.entrances(ofBuilding: -10) == [5, 6, 7])
      #expect(try places.entrances(ofBuilding: -20) == [8, 9])
      #expect(try places.entrances(ofBuilding: -30) == [])
      #expect(try places.in(box: .world).map(\.name) == ["Town hall"])
      try places.close()
      places = try PlaceStore(path: path)
    }
    try places.replace(version(nameless, list("[-10, 6]"), named, at: 6))
    #expect(try places.entrances(ofBuilding: -10) == [6, 7] && places.entrances(ofBuilding: -20) == [])
  }

  /// Promises: T-15
  @Test("A place has its names, address, numbers and shape in a later launch")
  func details() throws {
    let properties = #"""
      {"amenity": "cafe", "name": "Alpha", "name:de": "Alfa", "addr:housenumber": "7", "addr:street": "Main", "phone": "1",
       "ref": "A4", "junction": "circular"}
      """#
    let table = CategoryTable(version: 1, [.place: ["cafe"]])
    var places = try PlaceStore(path: path, categories: table)
    let text = TileDocument.feature("amenity", "cafe", ids: "[1, 2]", properties: properties)
    let ring = TileDocument.shape("Polygon", "[[[0, 0], [0.002, 0], [0.002, 0.001], [0, 0]]]")
    let hall = TileDocument.feature(
      "building", "office", ids: "[-20]", geometry: ring,
      properties: #"{"building": "office", "name": "Hall"}"#)
    try places.replace(version(text, hall, at: 5))
    try places.close()
    places = try PlaceStore(path: path, categories: table)
    let place = try #require(try places.features(FeatureKey(.poi, "1")).first)
    #expect(place.name == "Alpha" && place.name(in: "de") == "Alfa" && place.localizedNames == ["de": "Alfa"])
    #expect(place.addressLine == "7 Main" && place.streetName == "Main" && place.phone == "1")
    #expect(place.reference == "A4" && place.isRoundabout && place.category == .place)
    #expect(place.ids == [1, 2] && place.type == "amenity" && place.value == "cafe")
    #expect(place.geometry == .point(place.center) && place.tag("phone") == "1")
    let area = try #require(try places.features(FeatureKey(.poi, "-20")).first)
    #expect(area.nameTag == "office_building" && area.geometry.extent == .area)
    #expect(area.center.distance(to: Coordinate(latitude: 0.0005, longitude: 0.001)) < 0.01)
    #expect(try area == TileDocument.decode(hall, table))
  }

  /// Promises: T-43, B-8
  @Test("Another table recomputes the categories, at once or at start, without a download")
  func categories() throws {
    let first = CategoryTable(version: 1, [.place: ["cafe"]])
    let second = CategoryTable(version: 2, [.landmark: ["cafe"]])
    var places = try PlaceStore(path: path, categories: first)
    try places.replace(version(cafe(1, "Alpha"), at: 5, tag: "\"a\""))
    let held = try places.tile(tile)
    #expect(try places.in(box: .world).map(\.category) == [.place])
    try places.close()
    places = try PlaceStore(path: path, categories: second)
    #expect(try places.in(box: .world).map(\.category) == [.landmark])
    #expect(try places.in(box: .world, PlaceFilter(categories: [.place])) == [])
    #expect(try places.tile(tile) == held)
    try places.setCategories(first)
    #expect(try places.in(box: .world, PlaceFilter(categories: [.place])).map(\.ids) == [[1]])
  }

  /// Promises: T-41, B-19l
  @Test("Clearing deletes everything, including running loads, and works on a new file")
  func cleared() throws {
    let places = try PlaceStore(path: path)
    try places.clear()
    try places.replace(version(cafe(1, "Alpha"), at: 5))
    let generation = places.generation
    try places.clear()
    #expect(try places.counts() == (0, 0) && places.search("alpha") == [])
    #expect(try places.replace(version(cafe(1, "Alpha"), at: 5), generation: generation) == .discarded)
    #expect(try places.counts() == (0, 0))
    let now = places.generation
    #expect(try places.replace(version(cafe(1, "Alpha"), at: 5), generation: now) == .added)
  }

  /// Promises: B-19k, T-21
  @Test(
    "A file of another format is converted, a damaged one recreated, others left"
  )
  func damaged() throws {
    try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: path))
    var places = try PlaceStore(path: path)
    #expect(places.repairs.count == 1 && places.repairs[0].contains("damaged. 0 of its tiles"))
    let held = version(cafe(1, "Alpha"), at: 5, tag: "\"a\"")
    try places.replace(held)
    try places.close()
    var queue = try DatabaseQueue(path: path)
    // Another format, with different tables except for the tiles as received.
    try queue.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA user_version = 99; DROP TABLE words; DROP TABLE version")
    }
    try queue.close()
    places = try PlaceStore(path: path)
    #expect(try places.tile(tile) == held)
    #expect(try places.search("alpha").map(\.name) == ["Alpha"])
    #expect(places.repairs.count == 1 && places.repairs[0].contains("newer version made it. 1 of its tiles"))
    try places.close()
    queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA user_version = 99; ALTER TABLE tile RENAME COLUMN payload TO other")
    }
    try queue.close()
    places = try PlaceStore(path: path)
    #expect(try places.counts() == (0, 0), "nothing of it can be read")
    #expect(try places.replace(version(cafe(1, "Alpha"), at: 5)) == .added)
    try places.close()

    let other = scratch.file("diary.sqlite")
    queue = try DatabaseQueue(path: other)
    try queue.write { try $0.execute(sql: "CREATE TABLE diary (day TEXT)") }
    try queue.close()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: other))
    #expect(throws: BothyError.self) { try PlaceStore(path: other) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == bytes)
  }

  /// Promises: B-19k
  @Test("Damage found during use is reported, and the next call has the places")
  func damagedInUse() throws {
    let places = try PlaceStore(path: path)
    let held = version(cafe(1, "Alpha"), at: 5)
    try places.replace(held)
    let queue = try DatabaseQueue(path: path)
    try queue.write { try $0.execute(sql: "UPDATE version SET body = x'ff'") }
    try queue.close()
    #expect { try places.in(box: .world) } throws: { ($0 as? BothyError)?.code == .damagedPlaces }
    #expect(try places.in(box: .world).map(\.name) == ["Alpha"] && places.tile(tile) == held)
    #expect(places.repairs.count == 1)
    #expect(try places.replace(version(cafe(2, "Beta"), at: 6)) == .updated)
    try places.close()
    let again = try PlaceStore(path: path)
    #expect(try again.in(box: .world).map(\.name) == ["Beta"] && again.repairs.isEmpty)
  }

  /// Promises: T-21
  @Test("A closed file can be deleted, and calls throw until it is reopened")
  func closed() async throws {
    let places = try PlaceStore(path: path)
    try places.replace(version(cafe(1, "Alpha"), at: 5))
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 { group.addTask { try places.in(box: .world).count } }
      for try await count in group { #expect(count == 1) }
    }
    #if os(Linux)
      #expect(openFiles() > 0)
    #endif
    try places.close()
    #if os(Linux)
      #expect(openFiles() == 0)
    #endif
    #expect(throws: BothyError.self) { try places.in(box: .world) }
    #expect(throws: BothyError.self) { try places.replace(version(at: 6)) }
    try FileManager.default.removeItem(atPath: path)
    #expect(try PlaceStore(path: path).counts() == (0, 0))
  }

  #if os(Linux)
    /// Returns the number of open handles of this process to the file or one beside it.
    private func openFiles() -> Int {
      let folder = "/proc/self/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasPrefix(path)
          == true
      }
    }
  #endif
}
