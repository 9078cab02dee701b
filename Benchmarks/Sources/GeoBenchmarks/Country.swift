import BothyStore
import Foundation

/// Random numbers that are equal in every run (SplitMix64).
struct Seeded {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 to less than 1.
  mutating func part() -> Double { Double(next() >> 11) / Double(1 << 53) }

  mutating func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// Returns a number of about a normal distribution: the sum of four.
  mutating func bell() -> Double { part() + part() + part() + part() - 2 }
}

/// A made-up country from a seed. Seven of ten places are in towns, and the others are anywhere.
struct Country {
  static let west = -5.0, south = 50.0, width = 7.0, height = 5.0
  private(set) var longitudes: [Double] = []
  private(set) var latitudes: [Double] = []

  init(places: Int, seed: UInt64 = 1) {
    var random = Seeded(seed)
    let towns = (0..<max(1, places / 500)).map { _ in
      (x: Self.west + random.part() * Self.width, y: Self.south + random.part() * Self.height)
    }
    for _ in 0..<places {
      var (x, y) = (Self.west + random.part() * Self.width, Self.south + random.part() * Self.height)
      if random.part() < 0.7 {
        let town = towns[random.number(below: towns.count)]
        (x, y) = (town.x + random.bell() * 0.02, town.y + random.bell() * 0.013)
      }
      longitudes.append((x * 1e6).rounded() / 1e6)
      latitudes.append((y * 1e6).rounded() / 1e6)
    }
  }

  var count: Int { longitudes.count }

  /// Returns positions to search near: beside places, and now and then far from all.
  func questions(_ count: Int, seed: UInt64 = 2) -> [Coordinate] {
    var random = Seeded(seed)
    return (0..<count).map { number in
      if number % 10 == 9 {
        return Coordinate(
          latitude: Self.south + random.part() * Self.height,
          longitude: Self.west + random.part() * Self.width)
      }
      let near = random.number(below: self.count)
      return Coordinate(
        latitude: latitudes[near] + random.bell() * 0.002, longitude: longitudes[near] + random.bell() * 0.003
      )
    }
  }
}

/// Tiles in the form of map servers for walkers.
enum TileText {
  static let kinds = [
    ("amenity", "cafe"), ("shop", "bakery"), ("amenity", "bench"), ("tourism", "museum"),
    ("highway", "bus_stop"), ("amenity", "pharmacy"), ("leisure", "park"), ("office", "company"),
  ]

  static func append(point number: Int, _ longitude: Double, _ latitude: Double, to text: inout String) {
    let (type, value) = kinds[number % kinds.count]
    text += """
      {"type":"Feature","feature_type":"\(type)","feature_value":"\(value)","osm_ids":[\(number + 1)],\
      "geometry":{"type":"Point","coordinates":[\(longitude),\(latitude)]},\
      "properties":{"name":"Place \(number)","\(type)":"\(value)"}},
      """
  }

  /// Appends the outline of a building, like most features of a town.
  static func append(outline number: Int, _ longitude: Double, _ latitude: Double, to text: inout String) {
    let (east, north) = (longitude + 0.000113, latitude + 0.000071)
    text += """
      {"type":"Feature","feature_type":"building","feature_value":"yes","osm_ids":[\(-number - 1)],\
      "geometry":{"type":"Polygon","coordinates":[[[\(longitude),\(latitude)],[\(east),\(latitude)],\
      [\(east),\(north)],[\(longitude),\(north)],[\(longitude),\(latitude)]]]},"properties":{}},
      """
  }

  static func collection(_ features: String) -> Data {
    Data(#"{"type":"FeatureCollection","features":["#.utf8) + Data(features.utf8.dropLast()) + Data("]}".utf8)
  }
}
