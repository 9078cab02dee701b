public import BothyStore
public import Foundation

/// A place that a person saved: a marker, the destination, or a location that isn't a place of the map.
public struct SavedPlace: Entity, Hashable {
  /// The purpose of a saved place. It is stored as its name.
  public enum Kind: String, Sendable, Hashable, CaseIterable, FieldConvertible {
    /// A place to return to. A person may have any number of markers. A `NearbyMap` with the saved places keeps their
    /// tiles.
    case marker
    /// The place to travel to. `SavedPlaces.setDestination` stores at most one. A `NearbyMap` keeps its tile too.
    case destination
    /// A position that isn't a place of the map. Its tile may be evicted.
    case location
  }

  /// The schema of the type for a store, see `SavedPlaces.types`.
  public static let schema = TypeSchema(
    "SavedPlace",
    fields: [
      .field("kind", Kind.self, indexed: true), .field("name", String.self),
      .field("position", Coordinate.self), .field("feature", String?.self), .field("note", String?.self),
      .field("createdAt", Date.self),
    ])

  /// The id of the record. The one that `SavedPlaces.setDestination` saves is `destination`.
  public let id: String
  /// The purpose of the place, by which `SavedPlaces.saved()` sorts.
  public var kind: Kind
  /// The name that the person chose.
  public var name: String
  /// The position in degrees. Saving one that isn't on earth throws `BothyError` `.invalidValue`.
  public var position: Coordinate
  /// The key of the corresponding place of the map, or `nil`.
  ///
  /// The place may be deleted from the map or not be stored. The saved name and position stay.
  public var feature: FeatureKey?
  /// The person's note, or `nil`.
  public var note: String?
  /// The time when it was saved, in whole milliseconds. Older places of one kind come first.
  public var createdAt: Date

  /// Creates a place for `SavedPlaces.save`, by default with a new id and the current time.
  ///
  /// Nothing is stored or checked before it is saved. The time is rounded to milliseconds, as it is stored.
  public init(
    _ kind: Kind, _ name: String, at position: Coordinate, for feature: FeatureKey? = nil,
    note: String? = nil, createdAt: Date = Date(), id: String = UUIDv7.make()
  ) {
    self.id = id
    self.kind = kind
    self.name = name
    self.position = position
    self.feature = feature
    self.note = note
    self.createdAt = Timestamp(createdAt).date  // as it is stored
  }

  /// Reads a stored record, for the store. An unreadable `feature` counts as `nil`.
  public init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    kind = try Kind(fromField: &fields)
    name = try String(fromField: &fields)
    position = try Coordinate(fromField: &fields)
    feature = try String?(fromField: &fields).flatMap(FeatureKey.init)
    note = try String?(fromField: &fields)
    createdAt = try Date(fromField: &fields)
  }

  /// Writes the fields in the order of the schema, for the store.
  public func encode(to fields: inout FieldEncoder) {
    kind.encodeField(to: &fields)
    name.encodeField(to: &fields)
    position.encodeField(to: &fields)
    feature.map(\.description).encodeField(to: &fields)
    note.encodeField(to: &fields)
    createdAt.encodeField(to: &fields)
  }

  /// Orders markers first, then the destination, then locations, and each kind by age.
  static func precedes(_ left: SavedPlace, _ right: SavedPlace) -> Bool {
    let order = { (kind: Kind) in Kind.allCases.firstIndex(of: kind) ?? 0 }
    return (order(left.kind), left.createdAt, left.id) < (order(right.kind), right.createdAt, right.id)
  }
}

/// A place that a person selected, with the time of the last selection.
package struct SelectedPlace: Entity, Hashable {
  package static let schema = TypeSchema(
    "SelectedPlace",
    fields: [
      .field("name", String.self), .field("position", Coordinate.self), .field("feature", String?.self),
      .field("selectedAt", Date.self, indexed: true),
    ])

  /// The id of the place of the map, or the position, so that each place occurs once.
  package let id: String
  /// The name at the time of selection.
  package var name: String
  /// The position.
  package var position: Coordinate
  /// The key of the place of the map, or `nil` for a position alone.
  package var feature: FeatureKey?
  /// The time of the last selection, in whole milliseconds.
  package var selectedAt: Date

  /// Creates a selection. Equal features or positions equal to a millionth of a degree have equal ids, so that a second
  /// selection adds no record.
  package init(_ name: String, at position: Coordinate, for feature: FeatureKey? = nil, selectedAt: Date) {
    let place = "\(Int64(clamping: position.latitude)),\(Int64(clamping: position.longitude))"
    id = feature.map { "\($0.layer.rawValue):\($0.id)" } ?? "at:\(place)"
    self.name = name
    self.position = position
    self.feature = feature
    self.selectedAt = Timestamp(selectedAt).date
  }

  package init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    position = try Coordinate(fromField: &fields)
    feature = try String?(fromField: &fields).flatMap(FeatureKey.init)
    selectedAt = try Date(fromField: &fields)
  }

  package func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    position.encodeField(to: &fields)
    feature.map(\.description).encodeField(to: &fields)
    selectedAt.encodeField(to: &fields)
  }
}

extension Int64 {
  /// Converts degrees to millionths.
  fileprivate init(clamping degrees: Double) {
    self = degrees.isFinite ? Int64((Swift.min(Swift.max(degrees, -1000), 1000) * 1e6).rounded()) : 0
  }
}

extension FeatureKey {
  /// Parses the format of `description`.
  package init?(_ description: String) {
    let parts = description.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let layer = TileFeature.Layer(rawValue: String(parts[0])) else { return nil }
    self.init(layer, String(parts[1]))
  }
}
