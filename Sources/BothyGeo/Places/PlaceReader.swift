import BothyStore
import GRDB

/// Finds the rows near a box and reads the relevant features, on one snapshot.
struct PlaceReader {
  private let database: Database

  init(_ database: Database) { self.database = database }

  /// A row of the index of areas, which is enough to exclude a feature.
  struct Candidate {
    let number: Int64
    let version: Int64
    let layer: TileFeature.Layer
    let category: PlaceCategory
    let isNamed: Bool
    let box: GeoBox
    /// The id of the feature's key.
    let id: String
  }

  /// Returns the features whose box intersects a box, each once.
  func candidates(in box: GeoBox) throws -> [Candidate] {
    var seen: Set<Int64> = []
    var found: [Candidate] = []
    for part in box.intervals {
      let statement = try PreparedStatement(
        """
        SELECT feature.id, version, layer, category, named, feature.west, feature.south, feature.east, feature.north,
          feature.key
        FROM area CROSS JOIN feature ON feature.id = area.id >> 1
        WHERE area.west <= ? AND area.east >= ? AND area.south <= ? AND area.north >= ?
        """, in: database)
      statement.bind(.double(part.east), at: 1)
      statement.bind(.double(part.west), at: 2)
      statement.bind(.double(part.north), at: 3)
      statement.bind(.double(part.south), at: 4)
      while try statement.step() {
        guard seen.insert(statement.int(at: 0)).inserted else { continue }
        found.append(try Self.candidate(statement))
      }
    }
    return found
  }

  private static func candidate(_ statement: PreparedStatement) throws -> Candidate {
    guard let layer: TileFeature.Layer = PlaceCode.value(statement.int(at: 2)),
      let category: PlaceCategory = PlaceCode.value(statement.int(at: 3))
    else { throw FeatureDamage() }
    return Candidate(
      number: statement.int(at: 0), version: statement.int(at: 1), layer: layer, category: category,
      isNamed: statement.int(at: 4) != 0,
      box: GeoBox(
        west: statement.double(at: 5), south: statement.double(at: 6), east: statement.double(at: 7),
        north: statement.double(at: 8)), id: statement.text(at: 9) ?? "")
  }

  func feature(_ version: Int64) throws -> TileFeature {
    let statement = try PreparedStatement("SELECT body FROM version WHERE id = ?", in: database)
    statement.bind(version, at: 1)
    guard try statement.step() else { throw FeatureDamage() }
    defer { statement.reset() }
    return try FeatureCoding.decode(statement.data(at: 0))
  }

  /// Returns the features of an id in a layer in order of identity, usually one. If vector tiles cut the shape, there is
  /// one for each tile.
  func features(_ key: FeatureKey) throws -> [TileFeature] {
    // The pieces of an intersection's key are others: its position follows the same mark.
    let hasPieces = key.layer != .intersection && !key.id.contains(FeatureKey.cut)
    let statement = try PreparedStatement(
      "SELECT version FROM feature WHERE layer = ? AND (key = ? OR key >= ? AND key < ?)", in: database)
    statement.bind(PlaceCode.of(key.layer), at: 1)
    statement.bind(key.id, at: 2)
    statement.bind(hasPieces ? key.id + FeatureKey.cut : "", at: 3)
    statement.bind(hasPieces ? key.id + FeatureKey.afterCut : "", at: 4)
    return try features(statement)
  }

  /// Returns the features whose versions a statement returns.
  func features(_ statement: PreparedStatement) throws -> [TileFeature] {
    var versions: [Int64] = []
    while try statement.step() { versions.append(statement.int(at: 0)) }
    statement.reset()
    return try versions.map(feature).sorted { $0.identity < $1.identity }
  }

  /// Returns the lists of a building's entrances, one from each tile that has one.
  func entranceLists(_ building: Int64) throws -> [TileFeature] {
    let statement = try PreparedStatement(
      """
      SELECT version.body FROM feature JOIN version ON version.feature = feature.id
      WHERE layer = ? AND key = ? ORDER BY version.tile
      """, in: database)
    statement.bind(PlaceCode.of(TileFeature.Layer.entranceList), at: 1)
    statement.bind(String(building), at: 2)
    var found: [TileFeature] = []
    while try statement.step() { found.append(try FeatureCoding.decode(statement.data(at: 0))) }
    return found
  }

  /// Returns the places within a radius, in no order. Also checks the buildings of entrance lists nearby, as an
  /// entrance may be outside the outline of its building.
  func places(
    within radius: Double, of center: Coordinate, _ filter: PlaceFilter
  ) throws -> [NearbyPlace] {
    let near = try candidates(in: GeoBox(around: center, radius: radius))
    let admitted = near.filter { filter.admits($0.layer, $0.category, isNamed: $0.isNamed) }
    var found: [NearbyPlace] = []
    for candidate in admitted {
      let place = try measured(feature(candidate.version), from: center)
      if place.distance <= radius { found.append(place) }
    }
    return try PieceChoice.nearest(
      of: found + places(of: buildings(near, filter), besides: admitted, within: radius, of: center, filter))
  }

  /// Returns up to `count` of the nearest places within a radius, in order. Boxes exclude features that are too far to
  /// read.
  func nearest(
    _ count: Int, within radius: Double, of center: Coordinate, _ filter: PlaceFilter
  ) throws -> [NearbyPlace] {
    let near = try candidates(in: GeoBox(around: center, radius: radius))
    let buildings = try buildings(near, filter)
    let admitted = near.filter { filter.admits($0.layer, $0.category, isNamed: $0.isNamed) }
    var shapes = PieceShapes()
    var found = try places(of: buildings, besides: admitted, within: radius, of: center, filter)
      .sorted(by: NearbyPlace.precedes).map { (element: $0, number: shapes.add($0.feature)) }
    let ordered = admitted.map { (least: least($0, from: center, buildings, radius), candidate: $0) }
      .sorted { $0.least < $1.least }
    for (least, candidate) in ordered {
      if least > radius || found.count >= count && least > found[count - 1].element.distance { break }
      let place = try measured(feature(candidate.version), from: center)
      guard place.distance <= radius else { continue }
      let number = shapes.add(place.feature)
      let index = found.firstIndex { NearbyPlace.precedes(place, $0.element) } ?? found.endIndex
      found.insert((place, number), at: index)
      if number != nil { found = shapes.first(of: found) }
    }
    return found.prefix(count).map(\.element)
  }

  /// Returns a lower bound for the distance of a feature, slightly reduced against rounding.
  ///
  /// Returns 0 if no bound is known: entrances of buildings may be anywhere, and far away the distance to a box isn't
  /// exact.
  private func least(
    _ candidate: Candidate, from center: Coordinate, _ buildings: Set<Int64>, _ radius: Double
  ) -> Double {
    if !buildings.isEmpty, candidate.layer == .poi, Int64(candidate.id).map(buildings.contains) ?? true {
      return 0
    }
    let box = candidate.box
    if box.west == box.east, box.south == box.north {
      return center.distance(to: Coordinate(latitude: box.south, longitude: box.west)) * (1 - 1e-9)
    }
    return radius < 50_000 ? box.distance(to: center) * 0.999 : 0
  }

  /// Returns the buildings that have a list of entrances among the candidates.
  private func buildings(_ near: [Candidate], _ filter: PlaceFilter) throws -> Set<Int64> {
    guard filter.layers.contains(.poi) else { return [] }
    var buildings: Set<Int64> = []
    for candidate in near where candidate.layer == .entranceList {
      if let building = try feature(candidate.version).building { buildings.insert(building) }
    }
    return buildings
  }

  /// Returns the buildings within a radius, without those that are known.
  private func places(
    of buildings: Set<Int64>, besides known: [Candidate], within radius: Double, of center: Coordinate,
    _ filter: PlaceFilter
  ) throws -> [NearbyPlace] {
    if buildings.isEmpty { return [] }
    let seen = Set(known.map(\.number))
    var found: [NearbyPlace] = []
    for building in buildings {
      for (number, feature) in try rows(of: FeatureKey(.poi, String(building)))
      where !seen.contains(number) && filter.admits(feature) {
        let place = try measured(feature, from: center)
        if place.distance <= radius { found.append(place) }
      }
    }
    return found
  }

  private func rows(of key: FeatureKey) throws -> [(Int64, TileFeature)] {
    let statement = try PreparedStatement(
      "SELECT id, version FROM feature WHERE layer = ? AND key = ?", in: database)
    statement.bind(PlaceCode.of(key.layer), at: 1)
    statement.bind(key.id, at: 2)
    var rows: [(Int64, Int64)] = []
    while try statement.step() { rows.append((statement.int(at: 0), statement.int(at: 1))) }
    statement.reset()
    return try rows.map { ($0.0, try feature($0.1)) }
  }

  private func measured(_ feature: TileFeature, from center: Coordinate) throws -> NearbyPlace {
    var entrances: [Coordinate] = []
    if feature.layer == .poi, feature.geometry.extent == .area, let id = feature.ids.first {
      entrances = try entranceLists(id).flatMap { $0.geometry.outline }
    }
    return NearbyPlace(feature, entrances: entrances, from: center)
  }
}

extension NearbyPlace {
  init(_ feature: TileFeature, entrances: [Coordinate], from center: Coordinate) {
    let measured = entrances.map { (position: $0, distance: $0.distance(to: center)) }
    let closest = measured.min { $0.distance < $1.distance }
    let edge = feature.geometry.distance(to: center)
    self.init(
      feature: feature, distance: min(edge, closest?.distance ?? .infinity), entrance: closest?.position)
  }
}
