import BothyCache
import BothyGeo
import BothyStore
import BothySync
import Foundation

/// The content of a part of the map: tiles of caches and place files, places, and records with a position.
struct MapState {
  let box: GeoBox
  let mosaic: TileMosaic
  let dots: [Dot]
  /// The number of records and places in the box, drawn or not.
  let recordCount: Int
  let placeCount: Int
  let attributions: [String]

  struct Dot: Equatable {
    var place: Coordinate
    var title: String
    /// The kind: a category of places, or the type of a record.
    var kind: String
    /// The record that is shown in full, or `nil` for places.
    var record: RecordID?
  }

  static let cellLimit = 2500
  static let dotLimit = 1500

  /// - Parameter box: the part of the map, or `nil` for all content.
  init(_ subjects: InspectorSubjects, entries: [[ResourceCache.Inspected]], box asked: GeoBox?) async throws {
    let tiles =
      entries.flatMap { $0.compactMap(Self.tile) } + (try Self.placeTiles(subjects.places, now: subjects.now))
    let records = try await Self.records(subjects.store, in: asked)
    let box = asked ?? Self.extent(tiles.map(\.tile), records.dots.map(\.place))
    let places = try Self.places(subjects.places, in: box, limit: Self.dotLimit - records.dots.count)
    self.box = box
    mosaic = TileMosaic(tiles, in: box, limit: Self.cellLimit)
    dots = records.dots + places.dots
    recordCount = records.total
    placeCount = places.total
    attributions = Set(
      subjects.places.flatMap(\.attributions)
        + subjects.caches.flatMap { $0.cache.sources.map(\.names.attribution) }
    ).filter { !$0.isEmpty }.sorted()
  }

  /// Returns the tile of an entry, or `nil` for other resources.
  private static func tile(
    _ entry: ResourceCache.Inspected
  ) -> (tile: Tile, freshness: FreshnessCounts)? {
    guard let tile = Tile(entry.key) else { return nil }
    var freshness = FreshnessCounts()
    freshness.count(entry.usability)
    return (tile, freshness)
  }

  private static func placeTiles(
    _ files: [InspectorSubjects.PlaceDatabase], now: Int64
  ) throws -> [(tile: Tile, freshness: FreshnessCounts)] {
    try files.flatMap { file in
      try file.places.heldTiles(limit: 200_000).map { held in
        let age = now - Int64((held.validated.timeIntervalSince1970 * 1000).rounded())
        let isFresh = age >= 0 && age < PlaceTile.defaultLifetime
        return (held.tile, isFresh ? FreshnessCounts(fresh: 1) : FreshnessCounts(usable: 1))
      }
    }
  }

  private static func places(
    _ files: [InspectorSubjects.PlaceDatabase], in box: GeoBox, limit: Int
  ) throws -> (dots: [Dot], total: Int) {
    var dots: [Dot] = []
    var total = 0
    for file in files {
      let found = try file.places.features(near: box, .places, limit: limit - dots.count)
      total += found.total
      dots += found.features.map {
        Dot(
          place: $0.center, title: $0.name ?? $0.nameTag ?? "\($0.type) \($0.value)",
          kind: $0.category.rawValue)
      }
    }
    return (dots, total)
  }

  /// Returns the records of every type that has a position field, by its first one.
  private static func records(
    _ store: SyncedStore, in box: GeoBox?
  ) async throws -> (dots: [Dot], total: Int) {
    let types = store.store.schema.types
    return try await store.store.read { transaction in
      var dots: [Dot] = []
      var total = 0
      for type in types {
        guard let field = type.fields.first(where: { $0.kind == .coordinate })?.name else { continue }
        let condition: ConditionTree =
          box.map { .inside(field: field, $0) } ?? .compare(field: field, .notEqual, .null)
        total += try transaction.count(AnyQuery(type.name, where: condition))
        guard dots.count < dotLimit / 2 else { continue }
        for record in try transaction.fetch(
          AnyQuery(type.name, where: condition, limit: dotLimit / 2 - dots.count))
        {
          guard case .coordinate(let place) = record[field] else { continue }
          dots.append(
            Dot(place: place, title: record.title(type), kind: type.name, record: record.recordID))
        }
      }
      return (dots, total)
    }
  }

  /// Returns a box around all content with a small margin, or the world without content.
  static func extent(_ tiles: [Tile], _ places: [Coordinate]) -> GeoBox {
    let corners = tiles.flatMap { tile in
      let bounds = tile.bounds
      return [
        Coordinate(latitude: bounds.south, longitude: bounds.west),
        Coordinate(latitude: bounds.north, longitude: bounds.east),
      ]
    }
    let all = corners + places
    guard let first = all.first else { return GeoBox(west: -180, south: -85, east: 180, north: 85) }
    var box = GeoBox(
      west: first.longitude, south: first.latitude, east: first.longitude, north: first.latitude)
    for place in all {
      box.west = min(box.west, place.longitude)
      box.east = max(box.east, place.longitude)
      box.south = min(box.south, place.latitude)
      box.north = max(box.north, place.latitude)
    }
    let air = max(max(box.east - box.west, box.north - box.south) * 0.06, 0.002)
    return GeoBox(
      west: max(box.west - air, -180), south: max(box.south - air, -85), east: min(box.east + air, 180),
      north: min(box.north + air, 85))
  }

  func write(to writer: inout JSONWriter) {
    writer.object("box") { writer in
      writer.member("west", box.west)
      writer.member("south", box.south)
      writer.member("east", box.east)
      writer.member("north", box.north)
    }
    mosaic.write(to: &writer)
    writer.list("dots", dots) { writer, dot in
      writer.member("lat", dot.place.latitude)
      writer.member("lon", dot.place.longitude)
      writer.member("title", dot.title)
      writer.member("kind", dot.kind)
      if let record = dot.record { writer.object("record") { $0.members(record) } }
    }
    writer.member("recordCount", recordCount)
    writer.member("placeCount", placeCount)
    writer.names("attributions", attributions)
  }
}

extension AnyRecord {
  /// Returns a title for people: the first text that isn't empty, or else the id.
  func title(_ type: TypeSchema) -> String {
    for field in type.fields where field.kind == .text {
      if let text = self[field.name].text, !text.isEmpty { return text }
    }
    return id
  }
}
