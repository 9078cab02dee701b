public import BothyStore
public import Foundation

/// What a person did with places: markers, a destination, what was looked at last. Kept in the app's store, which is
/// never cleared by itself, and in none of the files of the map, which may be.
///
///     let store = try Store(at: path, schema: Schema(types: UserPlaces.types))
///     let mine = UserPlaces(store)
///     try mine.noteSelected(cafe)
///     try mine.addMarker("Bench", at: position)
///
/// The types can be synced like any others: give `types` to the schema of a `SyncedStore`. Every call is one transaction
/// of the store, and blocks as its calls do.
public struct UserPlaces: Sendable {
  /// What the store's schema must declare.
  public static let types = [SavedPlace.schema, SelectedPlace.schema]

  /// How many of the places looked at are remembered.
  public static let rememberedSelections = 50
  private static let destinationID = "destination"

  /// The store that has the records.
  public let store: Store

  /// Keeps what a person does in `store`, whose schema declares `types`.
  public init(_ store: Store) { self.store = store }

  /// Everything that was saved: markers, then the destination, then locations; the older first.
  public func saved() throws -> [SavedPlace] {
    try store.fetch(RecordQuery<SavedPlace>()).sorted(by: SavedPlace.precedes)
  }

  /// The markers, the older first.
  public func markers() throws -> [SavedPlace] { try saved().filter { $0.kind == .marker } }

  /// The place to go to; nil when there is none.
  public func destination() throws -> SavedPlace? { try store.fetch(SavedPlace.self, id: Self.destinationID) }

  /// Saves a place, or what was changed of one. Throws `StoreError`.
  public func save(_ place: SavedPlace) throws { try store.write { try $0.save(place) } }

  /// Saves a marker under a new id, and returns it. Throws `StoreError`.
  @discardableResult
  public func addMarker(
    _ name: String, at position: Coordinate, for feature: FeatureKey? = nil, note: String? = nil,
    createdAt: Date = Date()
  ) throws -> SavedPlace {
    let marker = SavedPlace(.marker, name, at: position, for: feature, note: note, createdAt: createdAt)
    try save(marker)
    return marker
  }

  /// The one destination, in place of the one before.
  @discardableResult
  public func setDestination(
    _ name: String, at position: Coordinate, for feature: FeatureKey? = nil, createdAt: Date = Date()
  ) throws -> SavedPlace {
    let place = SavedPlace(
      .destination, name, at: position, for: feature, createdAt: createdAt, id: Self.destinationID)
    try save(place)
    return place
  }

  /// Takes the destination away; none is no error.
  public func clearDestination() throws { try remove(Self.destinationID) }

  /// False when there was no such place.
  @discardableResult
  public func remove(_ id: String) throws -> Bool {
    try store.write { try $0.delete(SavedPlace.self, id: id) }
  }

  /// Notes that a place of the map was looked at: the newest of those remembered, once.
  public func noteSelected(_ feature: MapFeature, at time: Date = Date()) throws {
    try noteSelected(
      SelectedPlace(
        feature.name ?? feature.nameTag ?? "", at: feature.center, for: feature.key, selectedAt: time))
  }

  /// Notes that a place was looked at, and forgets the oldest beyond those remembered.
  public func noteSelected(_ place: SelectedPlace) throws {
    try store.write { transaction in
      try transaction.save(place)
      let all = RecordQuery<SelectedPlace>().order { $0.selectedAt.descending }
      for old in try transaction.fetch(all).dropFirst(Self.rememberedSelections) {
        try transaction.delete(SelectedPlace.self, id: old.id)
      }
    }
  }

  /// The places looked at last, the newest first.
  public func recentlySelected(_ count: Int = 5) throws -> [SelectedPlace] {
    try store.fetch(RecordQuery<SelectedPlace>().order { $0.selectedAt.descending }.limit(count))
  }

  /// The tiles that markers and the destination lie in: what is wanted without a network too.
  public func tiles(zoom: Int) throws -> Set<Tile> {
    var tiles: Set<Tile> = []
    for place in try saved() where place.kind != .location {
      // One without a tile has no position on the map.
      if let tile = try? Tile(containing: place.position, zoom: zoom) { tiles.insert(tile) }
    }
    return tiles
  }
}
