public import BothyStore

/// The places around a position as they were at one moment: those of the tiles that were shown, and what a person saved.
public struct PlaceSnapshot: Sendable {
  /// Counts up: equal numbers of one atlas mean the same snapshot.
  public let revision: Int
  /// The tiles around the position that were held.
  public let tiles: Set<Tile>
  /// Markers, the destination, the places of the tiles without entrances of buildings, then saved locations; each place
  /// of the map once, the first that stands for it.
  public let places: [PlaceEntry]
  /// Each in order of identity. An id may be among the places and among the roads: these are two things.
  public let roads: [MapFeature]
  /// Ways for those who walk or ride, in order of identity.
  public let paths: [MapFeature]
  /// Where roads meet, in order of identity.
  public let intersections: [MapFeature]
  /// Where the entrances of buildings are, by the id of the building.
  private let entrances: [Int64: [Coordinate]]

  /// - Parameters:
  ///   - features: those of the tiles, in order of identity.
  ///   - saved: in the order of `UserPlaces.saved`.
  init(revision: Int, tiles: Set<Tile>, features: [MapFeature], saved: [SavedPlace]) {
    self.revision = revision
    self.tiles = tiles
    let named = features.filter { $0.isNamed && $0.layer == .poi && $0.category != .entrance }
    let wanted = saved.filter { $0.kind != .location }.map(PlaceEntry.saved)
    let others = saved.filter { $0.kind == .location }.map(PlaceEntry.saved)
    places = PlaceEntry.firstOfEach(wanted + named.map(PlaceEntry.feature) + others)
    roads = features.filter { $0.layer == .road }
    paths = features.filter { $0.layer == .path }
    intersections = features.filter { $0.layer == .intersection }
    entrances = features.reduce(into: [:]) { found, feature in
      if let building = feature.building { found[building, default: []] += feature.geometry.outline }
    }
  }

  private init(_ whole: PlaceSnapshot, radius: Double, center: Coordinate) {
    revision = whole.revision
    tiles = whole.tiles
    entrances = whole.entrances
    let isNear = { (feature: MapFeature) in feature.geometry.distance(to: center) <= radius }
    places = whole.places.filter { whole.distance(of: $0, from: center) <= radius }
    roads = whole.roads.filter(isNear)
    paths = whole.paths.filter(isNear)
    intersections = whole.intersections.filter(isNear)
  }

  /// What of it is within so many metres of a position: tiles reach further than the circle they cover.
  public func within(radius: Double, of center: Coordinate) -> PlaceSnapshot {
    PlaceSnapshot(self, radius: radius, center: center)
  }

  /// The metres to the closest point of an entry's shape or its closest entrance.
  public func distance(of entry: PlaceEntry, from position: Coordinate) -> Double {
    switch entry {
    case .saved(let place): return place.position.distance(to: position)
    case .feature(let feature):
      let isBuilding = feature.geometry.extent == .area
      let doors = isBuilding ? feature.ids.first.flatMap { entrances[$0] } ?? [] : []
      return NearbyPlace(feature, entrances: doors, from: position).distance
    }
  }
}

/// One of the places around: of the map, or saved.
public enum PlaceEntry: Sendable, Hashable {
  /// A marker, the destination or a saved location.
  case saved(SavedPlace)
  /// A place of the map that nobody saved.
  case feature(MapFeature)

  /// The place of the map; nil for what was saved at a mere position.
  public var key: FeatureKey? {
    switch self {
    case .saved(let place): place.feature
    case .feature(let feature): feature.key
    }
  }

  /// What to call it: as the person named it, or by the map. Nil where the map has but a generic name (`nameTag`).
  public var name: String? {
    switch self {
    case .saved(let place): place.name
    case .feature(let feature): feature.name
    }
  }

  /// Where it was saved, or the middle of the box around the feature.
  public var center: Coordinate {
    switch self {
    case .saved(let place): place.position
    case .feature(let feature): feature.center
    }
  }

  static func firstOfEach(_ entries: [PlaceEntry]) -> [PlaceEntry] {
    var seen: Set<FeatureKey> = []
    return entries.filter { entry in entry.key.map { seen.insert($0).inserted } ?? true }
  }
}
