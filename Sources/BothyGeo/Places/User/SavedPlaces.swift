public import BothyStore
public import Foundation

/// The places of a person: markers, a destination, and recent selections.
///
/// They are in the app's store, which is never cleared automatically, and not in the files of the map, which may be.
///
/// ```swift
/// let store = try LocalStore(at: path, schema: StoreSchema(types: SavedPlaces.types))
/// let mine = SavedPlaces(store)
/// try mine.noteSelected(cafe)
/// try mine.addMarker("Bench", at: position)
/// ```
///
/// The types can be synced like others: pass `types` to the schema of a `SyncedStore`. Each call is one transaction of
/// the store, and blocks like the store's calls.
public struct SavedPlaces: Sendable {
  /// The types that the store's schema must declare: saved places and recent selections.
  ///
  /// For a store with other types too, add these to its schema. Their names are `SavedPlace` and `SelectedPlace`.
  public static let types = [SavedPlace.schema, SelectedPlace.schema]

  /// The number of selections that are stored.
  package static let rememberedSelections = 50
  private static let destinationID = "destination"

  /// The store that has the records.
  package let store: LocalStore

  /// Creates a value that uses `store`, whose schema must declare `types`.
  public init(_ store: LocalStore) { self.store = store }

  /// Returns all saved places: markers, then the destination, then locations. Older ones come first.
  ///
  /// Reads all of them and sorts in memory. Throws `BothyError`, for example `unknownType` if the schema lacks
  /// `types`.
  public func saved() throws -> [SavedPlace] {
    try store.fetch(RecordQuery<SavedPlace>()).sorted(by: SavedPlace.precedes)
  }

  /// Returns the markers, the older first.
  package func markers() throws -> [SavedPlace] { try saved().filter { $0.kind == .marker } }

  /// Returns the destination, or `nil`. Reads one record by its id.
  public func destination() throws -> SavedPlace? { try store.fetch(SavedPlace.self, id: Self.destinationID) }

  /// Saves a new or changed place in one transaction. It replaces the record with its id.
  ///
  /// Blocks like a write of the store. Throws `BothyError`, for example `.invalidValue` for a position that isn't on
  /// earth.
  public func save(_ place: SavedPlace) throws { try store.write { try $0.save(place) } }

  /// Saves a marker with a new id and returns it.
  ///
  /// A second call with equal values adds a second marker. Throws `BothyError` like `save(_:)`.
  @discardableResult
  public func addMarker(
    _ name: String, at position: Coordinate, for feature: FeatureKey? = nil, note: String? = nil,
    createdAt: Date = Date()
  ) throws -> SavedPlace {
    let marker = SavedPlace(.marker, name, at: position, for: feature, note: note, createdAt: createdAt)
    try save(marker)
    return marker
  }

  /// Saves the destination and replaces the earlier one.
  ///
  /// It has no note. Remove it with `remove("destination")`. Throws `BothyError` like `save(_:)`.
  @discardableResult
  public func setDestination(
    _ name: String, at position: Coordinate, for feature: FeatureKey? = nil, createdAt: Date = Date()
  ) throws -> SavedPlace {
    let place = SavedPlace(
      .destination, name, at: position, for: feature, createdAt: createdAt, id: Self.destinationID)
    try save(place)
    return place
  }

  /// Deletes the destination, if it exists.
  package func clearDestination() throws { try remove(Self.destinationID) }

  /// Deletes a place in one transaction. Returns false if it didn't exist. Recent selections stay.
  @discardableResult
  public func remove(_ id: String) throws -> Bool {
    try store.write { try $0.delete(SavedPlace.self, id: id) }
  }

  /// Records that a place of the map was selected. It becomes the newest selection and occurs once.
  ///
  /// The latest 50 selections are stored. Older ones are deleted in the same transaction. A feature without a name has
  /// its generic one.
  public func noteSelected(_ feature: TileFeature, at time: Date = Date()) throws {
    try noteSelected(
      SelectedPlace(
        feature.name ?? feature.nameTag ?? "", at: feature.center, for: feature.key, selectedAt: time))
  }

  /// Records a selection, and deletes the oldest ones above the limit. Selections of a clock that was ahead become
  /// earlier ones.
  package func noteSelected(_ place: SelectedPlace) throws {
    try store.write { transaction in
      let all = RecordQuery<SelectedPlace>().order(Field<Date>("selectedAt").descending)
      let others = try transaction.fetch(all).filter { $0.id != place.id }
      for (rank, other) in others.prefix(while: { $0.selectedAt >= place.selectedAt }).enumerated() {
        var other = other
        other.selectedAt = place.selectedAt.addingTimeInterval(Double(-1 - rank) / 1000)
        try transaction.save(other)
      }
      try transaction.save(place)
      for old in others.dropFirst(Self.rememberedSelections - 1) {
        try transaction.delete(SelectedPlace.self, id: old.id)
      }
    }
  }

  /// Returns the latest selections, the newest first, as locations that aren't saved yet.
  ///
  /// `createdAt` is the time of the selection, or just before that of the next one if the clock was ahead. Costs one
  /// query. At most 50 are returned, whatever the count is.
  public func recentlySelected(_ count: Int = 5) throws -> [SavedPlace] {
    try store.fetch(RecordQuery<SelectedPlace>().order(Field<Date>("selectedAt").descending).limit(count)).map
    {
      SavedPlace(
        .location, $0.name, at: $0.position, for: $0.feature, createdAt: $0.selectedAt, id: $0.id)
    }
  }

  /// Returns the tiles that contain markers and the destination, which are needed without a network too.
  package func tiles(zoom: Int) throws -> Set<Tile> {
    var tiles: Set<Tile> = []
    for place in try saved() where place.kind != .location {
      // A place without a tile has no position on the map.
      if let tile = try? Tile(containing: place.position, zoom: zoom) { tiles.insert(tile) }
    }
    return tiles
  }
}
