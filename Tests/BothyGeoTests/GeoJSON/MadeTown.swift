import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

/// Makes nine neighbouring tiles of a town, as a tile server sends them: streets, crossings, buildings and cafés.
///
/// Streets are cut into blocks at their crossings. A block or building on a border is in both tiles. Some buildings have
/// a list of entrances, half of them have a name, and one has another list in each of its tiles.
struct MadeTown {
  /// The tiles, row by row from the north.
  private(set) var tiles: [(tile: Tile, data: Data)] = []

  private let places: [Tile]
  private var features: [[String]] = Array(repeating: [], count: 9)
  private static let streets = 9

  init() throws {
    let middle = try Tile(containing: Coordinate(latitude: 43.462, longitude: -80.52), zoom: 16)
    places = (-1...1).flatMap { south in (-1...1).compactMap { middle.neighbor(east: $0, south: south) } }
    addStreets()
    addCrossings()
    for place in 0..<9 { addBuildings(in: place) }
    addBuildingOnBorder()
    addCafes()
    for (place, tile) in places.enumerated() {
      let text =
        "{\"type\": \"FeatureCollection\", \"features\": [\(features[place].joined(separator: ", "))]}"
      tiles.append((tile, Data(text.utf8)))
    }
  }

  /// A position in columns and rows of tiles from the town's north-western corner.
  private struct Point {
    var column: Double
    var row: Double
    var place: Int { min(Int(row), 2) * 3 + min(Int(column), 2) }
  }

  private func text(_ point: Point) -> String {
    let bounds = places[point.place].bounds
    let (east, south) = (point.column.rounded(.down), point.row.rounded(.down))
    let longitude = bounds.west + (point.column - east) * (bounds.east - bounds.west)
    let latitude = bounds.north - (point.row - south) * (bounds.north - bounds.south)
    return "[\((longitude * 1e7).rounded() / 1e7), \((latitude * 1e7).rounded() / 1e7)]"
  }

  /// The column or row of a street.
  private static func place(_ street: Int) -> Double { Double(street / 3) + [0.2, 0.5, 0.8][street % 3] }

  /// Returns the id of the block of a street that begins at a crossing, or `nil` for none.
  private static func block(_ street: Int, from crossing: Int, isLane: Bool) -> Int? {
    (0..<streets - 1).contains(crossing) ? (isLane ? 2000 : 1000) + street * 10 + crossing : nil
  }

  private mutating func addStreets() {
    for isLane in [false, true] {
      for street in 0..<Self.streets {
        for crossing in 0..<Self.streets - 1 {
          guard let id = Self.block(street, from: crossing, isLane: isLane) else { continue }
          let (across, begin, end) = (Self.place(street), Self.place(crossing), Self.place(crossing + 1))
          // A block is not quite straight.
          let line = (0...4).map { step in
            let along = begin + (end - begin) * Double(step) / 4
            let beside = across + (step % 2 == 0 ? 0 : 0.01)
            return isLane ? Point(column: beside, row: along) : Point(column: along, row: beside)
          }
          let feature = TileDocument.feature(
            "highway", "residential", ids: "[-\(id)]",
            geometry: TileDocument.shape("LineString", "[\(line.map { text($0) }.joined(separator: ", "))]"),
            properties: #"{"highway": "residential", "name": "\#(isLane ? "Lane" : "Street") \#(street)"}"#)
          for place in Set([line[0].place, line[4].place]) { features[place].append(feature) }
        }
      }
    }
  }

  private mutating func addCrossings() {
    for row in 0..<Self.streets {
      for column in 0..<Self.streets {
        let blocks = [
          Self.block(row, from: column, isLane: false), Self.block(row, from: column - 1, isLane: false),
          Self.block(column, from: row, isLane: true), Self.block(column, from: row - 1, isLane: true),
        ]
        let ids = blocks.compactMap { $0.map { "-\($0)" } }.joined(separator: ", ")
        let point = Point(column: Self.place(column), row: Self.place(row))
        features[point.place].append(
          TileDocument.feature(
            "highway", "gd_intersection", ids: "[\(ids)]",
            geometry: TileDocument.shape("Point", text(point))))
      }
    }
  }

  private func building(_ id: Int, around middle: Point, name: String?) -> String {
    let corners = [(-0.03, -0.02), (0.03, -0.02), (0.03, 0.02), (-0.03, 0.02), (-0.03, -0.02)]
    let ring = corners.map { text(Point(column: middle.column + $0.0, row: middle.row + $0.1)) }
    let named = name.map { #", "name": "\#($0)""# } ?? ""
    return TileDocument.feature(
      "building", "yes", ids: "[-\(id)]",
      geometry: TileDocument.shape("Polygon", "[[\(ring.joined(separator: ", "))]]"),
      properties: #"{"building": "yes"\#(named)}"#)
  }

  private func entrances(_ ids: [Int], of building: Int, around middle: Point) -> String {
    let points = ids.indices.map { place in
      text(Point(column: middle.column + (place % 2 == 0 ? 0.03 : -0.03), row: middle.row))
    }
    return TileDocument.feature(
      "gd_entrance_list", "yes", ids: "[-\(building), \(ids.map(String.init).joined(separator: ", "))]",
      geometry: TileDocument.shape("MultiPoint", "[\(points.joined(separator: ", "))]"))
  }

  private mutating func addBuildings(in place: Int) {
    for number in 0..<4 {
      let id = 3000 + place * 10 + number
      let middle = Point(
        column: Double(place % 3) + (number % 2 == 0 ? 0.35 : 0.65),
        row: Double(place / 3) + (number / 2 == 0 ? 0.35 : 0.65))
      features[place].append(
        building(id, around: middle, name: number % 2 == 0 ? "House \(place) \(number)" : nil))
      guard number < 2 else { continue }
      features[place].append(entrances([id * 10 + 1, id * 10 + 2], of: id, around: middle))
    }
  }

  private mutating func addBuildingOnBorder() {
    let middle = Point(column: 1, row: 0.35)
    for place in 0..<2 {
      features[place].append(building(3999, around: middle, name: nil))
      features[place].append(entrances([39_991 + place, 39_995], of: 3999, around: middle))
    }
  }

  private mutating func addCafes() {
    var generator = SeededGenerator(seed: 20)
    for place in 0..<9 {
      for number in 0..<12 {
        let point = Point(
          column: Double(place % 3) + .random(in: 0.02...0.98, using: &generator),
          row: Double(place / 3) + .random(in: 0.02...0.98, using: &generator))
        features[place].append(
          TileDocument.feature(
            "amenity", "cafe", ids: "[\(50_000 + place * 100 + number)]",
            geometry: TileDocument.shape("Point", text(point)),
            properties: #"{"amenity": "cafe", "name": "Café \#(place) \#(number)"}"#))
      }
    }
  }
}

/// The towns that tests of places look at.
enum Town: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// Made tiles, which are always there.
  case made
  /// Real tiles, where they are beside the checkout.
  case real

  var testDescription: String { rawValue }

  /// Returns all tiles. Only real ones may be missing.
  func tiles() throws -> [(tile: Tile, data: Data)] {
    switch self {
    case .made: try MadeTown().tiles
    case .real: try Fixtures.placeTiles()
    }
  }

  /// Returns a tile with lists of entrances, and their number, or `nil` if it is missing.
  func entrances() throws -> (tile: Tile, data: Data, lists: Int)? {
    switch self {
    case .made:
      let first = try MadeTown().tiles[0]
      return (first.tile, first.data, 3)
    case .real:
      guard let data = try Fixtures.data("soundscape-tiles/16_18749_25070.json") else { return nil }
      return (try Tile(x: 18749, y: 25070, zoom: 16), data, 4)
    }
  }
}
