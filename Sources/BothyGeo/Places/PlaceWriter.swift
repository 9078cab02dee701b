import BothyStore
import Foundation
import GRDB

/// Changes the features of a tile within a transaction of the caller.
///
/// Each feature has one row, with the version of the tile that was received last. The row is deleted with the last tile
/// that has the feature.
struct PlaceWriter {
  private let database: Database

  init(_ database: Database) { self.database = database }

  /// Replaces the features of a tile. The row of the tile must be written before.
  func replace(_ tile: Int64, _ features: [TileFeature]) throws {
    var held = try versions(of: tile)
    var touched: Set<Int64> = []
    var kept: Set<Int64> = []
    for feature in features {
      let number = try number(of: feature)
      let body = FeatureCoding.encode(feature)
      kept.insert(number)
      if held[number] == body { continue }
      held[number] = body
      touched.insert(number)
      try write(body, of: number, in: tile)
    }
    for number in held.keys where !kept.contains(number) { try drop(number, from: tile) }
    for number in held.keys { try settle(number, wasChanged: touched.contains(number)) }
  }

  /// Deletes the tile, with all features that only it has.
  func remove(_ tile: Int64) throws {
    let features = try versions(of: tile).keys
    try run("DELETE FROM version WHERE tile = ?", tile)
    try run("DELETE FROM tile WHERE morton = ?", tile)
    try run("DELETE FROM tile_use WHERE morton = ?", tile)
    for number in features { try settle(number, wasChanged: false) }
  }

  /// Selects again the version that counts for each feature of the tile, after its times have changed.
  func settle(_ tile: Int64) throws {
    for number in try versions(of: tile).keys { try settle(number, wasChanged: false) }
  }

  private func versions(of tile: Int64) throws -> [Int64: Data] {
    let statement = try PreparedStatement("SELECT feature, body FROM version WHERE tile = ?", in: database)
    statement.bind(tile, at: 1)
    var found: [Int64: Data] = [:]
    while try statement.step() { found[statement.int(at: 0)] = statement.data(at: 1) }
    return found
  }

  /// Returns the number of the feature's row, and creates the row if it doesn't exist.
  private func number(of feature: TileFeature) throws -> Int64 {
    let identity = feature.identity
    let find = try PreparedStatement(
      "SELECT id FROM feature WHERE layer = ? AND key = ? AND type = ? AND extent = ?", in: database)
    bind(identity, to: find)
    if try find.step() {
      defer { find.reset() }
      return find.int(at: 0)
    }
    find.reset()
    let insert = try PreparedStatement(
      """
      INSERT INTO feature (layer, key, type, extent, version, category, named, west, south, east, north)
      VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0)
      """, in: database)
    bind(identity, to: insert)
    try insert.run()
    let number = database.lastInsertedRowID
    for road in feature.roads {
      let junction = try PreparedStatement(
        "INSERT INTO junction (road, feature) VALUES (?, ?)", in: database)
      junction.bind(road, at: 1)
      junction.bind(number, at: 2)
      try junction.run()
    }
    return number
  }

  private func bind(_ identity: PlaceIdentity, to statement: PreparedStatement) {
    statement.bind(PlaceCode.of(identity.key.layer), at: 1)
    statement.bind(identity.key.id, at: 2)
    statement.bind(identity.type, at: 3)
    statement.bind(PlaceCode.of(identity.extent), at: 4)
  }

  private func write(_ body: Data, of feature: Int64, in tile: Int64) throws {
    let statement = try PreparedStatement(
      """
      INSERT INTO version (feature, tile, body) VALUES (?, ?, ?)
      ON CONFLICT (feature, tile) DO UPDATE SET body = excluded.body
      """, in: database)
    statement.bind(feature, at: 1)
    statement.bind(tile, at: 2)
    statement.bind(body, at: 3)
    try statement.run()
  }

  private func drop(_ feature: Int64, from tile: Int64) throws {
    let statement = try PreparedStatement(
      "DELETE FROM version WHERE feature = ? AND tile = ?", in: database)
    statement.bind(feature, at: 1)
    statement.bind(tile, at: 2)
    try statement.run()
  }

  /// Updates the feature's row to the version received last, or deletes it if no tile has the feature. Of equally old
  /// versions, that of the last tile in order counts.
  private func settle(_ feature: Int64, wasChanged: Bool) throws {
    let statement = try PreparedStatement(
      """
      SELECT version.id, tile.morton, tile.received_at, feature.version, feature.layer FROM feature
      JOIN version ON version.feature = feature.id JOIN tile ON tile.morton = version.tile WHERE feature.id = ?
      """, in: database)
    statement.bind(feature, at: 1)
    var best: (receivedAt: Int64, tile: Tile, version: Int64)?
    var current: Int64 = 0
    var isList = false
    while try statement.step() {
      current = statement.int(at: 3)
      isList = statement.int(at: 4) == PlaceCode.of(TileFeature.Layer.entranceList)
      let tile = try Tile(morton: UInt64(bitPattern: statement.int(at: 1)))
      let receivedAt = statement.int(at: 2)
      if let best, (receivedAt, tile) < (best.receivedAt, best.tile) { continue }
      best = (receivedAt, tile, statement.int(at: 0))
    }
    statement.reset()
    guard let best else { return try removeRows(of: feature) }
    // The area of an entrance list is computed from all versions.
    if best.version != current || wasChanged || isList { try show(best.version, of: feature) }
  }

  private func removeRows(of feature: Int64) throws {
    try run("DELETE FROM feature WHERE id = ?", feature)
    try run("DELETE FROM junction WHERE feature = ?", feature)
    try removeIndexes(of: feature)
  }

  private func removeIndexes(of feature: Int64) throws {
    try run("DELETE FROM area WHERE id = ?", feature << 1)
    try run("DELETE FROM area WHERE id = ?", feature << 1 | 1)
    try run("DELETE FROM words WHERE rowid = ?", feature)
  }

  private func run(_ sql: String, _ number: Int64) throws {
    let statement = try PreparedStatement(sql, in: database)
    statement.bind(number, at: 1)
    try statement.run()
  }

  /// Writes the data that queries use: the columns of the row, its boxes and its words.
  private func show(_ version: Int64, of number: Int64) throws {
    let body = try PreparedStatement("SELECT body FROM version WHERE id = ?", in: database)
    body.bind(version, at: 1)
    guard try body.step() else { throw FeatureDamage() }
    let feature = try FeatureCoding.decode(body.data(at: 0))
    body.reset()
    try removeIndexes(of: number)
    guard let box = feature.geometry.bounds else { throw FeatureDamage() }
    let row = try PreparedStatement(
      """
      UPDATE feature SET version = ?, category = ?, named = ?, west = ?, south = ?, east = ?, north = ? WHERE id = ?
      """, in: database)
    row.bind(version, at: 1)
    row.bind(PlaceCode.of(feature.category), at: 2)
    row.bind(feature.isNamed ? 1 : 0, at: 3)
    bind(box, to: row, from: 4)
    row.bind(number, at: 8)
    try row.run()
    for (place, part) in try area(of: feature, box).parts.enumerated() {
      let area = try PreparedStatement(
        "INSERT INTO area (id, west, south, east, north) VALUES (?, ?, ?, ?, ?)", in: database)
      area.bind(number << 1 | Int64(place), at: 1)
      bind(part, to: area, from: 2)
      try area.run()
    }
    try writeWords(of: feature, number)
  }

  /// Returns the box for searching a feature. For a list of entrances, it encloses the lists of all tiles.
  private func area(of feature: TileFeature, _ box: GeoBox) throws -> GeoBox {
    guard let building = feature.building else { return box }
    let lists = try PlaceReader(database).entranceLists(building)
    return GeoBox(around: lists.flatMap { $0.geometry.outline }) ?? box
  }

  private func bind(_ box: GeoBox, to statement: PreparedStatement, from parameter: Int32) {
    for (place, edge) in [box.west, box.south, box.east, box.north].enumerated() {
      statement.bind(.double(edge), at: parameter + Int32(place))
    }
  }

  private func writeWords(of feature: TileFeature, _ number: Int64) throws {
    let others = feature.localizedNames.sorted { $0.key < $1.key }.map(\.value)
    guard feature.name != nil || !others.isEmpty else { return }
    let words = try PreparedStatement(
      "INSERT INTO words (rowid, name, others) VALUES (?, ?, ?)", in: database)
    words.bind(number, at: 1)
    words.bind(feature.name ?? "", at: 2)
    words.bind(others.joined(separator: "\n"), at: 3)
    try words.run()
  }
}
