public import BothyStore
public import Foundation

/// A place that a person keeps: a marker, the destination, or a location that is no place of the map.
public struct SavedPlace: Entity, Hashable {
  /// What the person keeps it for.
  public enum Kind: String, Sendable, Hashable, CaseIterable, FieldConvertible {
    /// To come back to; there may be any number.
    case marker
    /// To go to; `UserPlaces.setDestination` keeps one at most.
    case destination
    /// A position that is no place of the map.
    case location
  }

  public static let schema = TypeSchema(
    "SavedPlace",
    fields: [
      .field("kind", Kind.self, indexed: true), .field("name", String.self),
      .field("position", Coordinate.self), .field("feature", String?.self), .field("note", String?.self),
      .field("createdAt", Date.self),
    ])

  public let id: String
  /// What it is kept for.
  public var kind: Kind
  /// What the person calls it.
  public var name: String
  /// Where it is.
  public var position: Coordinate
  /// The place of the map that it stands for, where there is one.
  public var feature: FeatureKey?
  /// What the person wrote about it; nil where that is nothing.
  public var note: String?
  /// When it was saved, in whole milliseconds; of one kind the older ones come first.
  public var createdAt: Date

  /// A place to be saved by `UserPlaces.save`, under a new id and with the time of now, unless told otherwise.
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

  public init(id: String, from fields: inout FieldDecoder) throws(StoreError) {
    self.id = id
    kind = try Kind(fromField: &fields)
    name = try String(fromField: &fields)
    position = try Coordinate(fromField: &fields)
    feature = try String?(fromField: &fields).flatMap(FeatureKey.init)
    note = try String?(fromField: &fields)
    createdAt = try Date(fromField: &fields)
  }

  public func encode(to fields: inout FieldEncoder) {
    kind.encodeField(to: &fields)
    name.encodeField(to: &fields)
    position.encodeField(to: &fields)
    feature.map(\.description).encodeField(to: &fields)
    note.encodeField(to: &fields)
    createdAt.encodeField(to: &fields)
  }

  /// Markers, then the destination, then locations; the older first.
  static func precedes(_ left: SavedPlace, _ right: SavedPlace) -> Bool {
    let order = { (kind: Kind) in Kind.allCases.firstIndex(of: kind) ?? 0 }
    return (order(left.kind), left.createdAt, left.id) < (order(right.kind), right.createdAt, right.id)
  }
}

/// A place that a person has looked at, and when last.
public struct SelectedPlace: Entity, Hashable {
  public static let schema = TypeSchema(
    "SelectedPlace",
    fields: [
      .field("name", String.self), .field("position", Coordinate.self), .field("feature", String?.self),
      .field("selectedAt", Date.self, indexed: true),
    ])

  /// That of the place of the map; of a mere position the position, so that each is there once.
  public let id: String
  /// What it was called when it was looked at.
  public var name: String
  /// Where it is.
  public var position: Coordinate
  /// The place of the map that it is; nil for a mere position.
  public var feature: FeatureKey?
  /// When it was looked at last, in whole milliseconds.
  public var selectedAt: Date

  /// The same feature, or the same millionth of a degree, gives the same id: looked at again, it is not there twice.
  public init(_ name: String, at position: Coordinate, for feature: FeatureKey? = nil, selectedAt: Date) {
    let place = "\(Int64(clamping: position.latitude)),\(Int64(clamping: position.longitude))"
    id = feature.map { "\($0.layer.rawValue):\($0.id)" } ?? "at:\(place)"
    self.name = name
    self.position = position
    self.feature = feature
    self.selectedAt = Timestamp(selectedAt).date
  }

  public init(id: String, from fields: inout FieldDecoder) throws(StoreError) {
    self.id = id
    name = try String(fromField: &fields)
    position = try Coordinate(fromField: &fields)
    feature = try String?(fromField: &fields).flatMap(FeatureKey.init)
    selectedAt = try Date(fromField: &fields)
  }

  public func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    position.encodeField(to: &fields)
    feature.map(\.description).encodeField(to: &fields)
    selectedAt.encodeField(to: &fields)
  }
}

extension Int64 {
  /// Degrees in millionths.
  fileprivate init(clamping degrees: Double) {
    self = degrees.isFinite ? Int64((Swift.min(Swift.max(degrees, -1000), 1000) * 1e6).rounded()) : 0
  }
}

extension FeatureKey: LosslessStringConvertible {
  /// Reads what `description` says.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let layer = MapFeature.Layer(rawValue: String(parts[0])) else { return nil }
    self.init(layer, String(parts[1]))
  }
}
