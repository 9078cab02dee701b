public import BothyStore

/// The places around a position at one moment: those of the shown tiles, and those that a person saved.
///
/// A plain value in memory, with all features of the tiles. It doesn't change when tiles do. Take another with
/// `NearbyMap.snapshot()` after a change.
public struct PlaceSnapshot: Sendable {
  /// The number of the snapshot, which increases. Equal numbers of one map are the same snapshot.
  package let revision: Int
  /// The available tiles around the position.
  package let tiles: Set<Tile>
  /// The markers, the destination, the places of the tiles, then saved locations.
  ///
  /// Entrances of buildings aren't included. Each place of the map occurs once, as the first entry for it.
  public let places: [MapPlace]
  /// The roads in order of identity. A road and a place may have equal ids, but are different features.
  ///
  /// A road that vector tiles cut is one feature, with the pieces of the shown tiles.
  public let roads: [TileFeature]
  /// The ways for people who walk or ride, in order of identity. Pieces are joined as for `roads`.
  public let paths: [TileFeature]
  /// The crossings of roads, in order of identity. `TileFeature.ids` are those of the roads.
  public let intersections: [TileFeature]
  /// The positions of the entrances of buildings, by the id of the building.
  private let entrances: [Int64: [Coordinate]]

  /// Creates a snapshot.
  ///
  /// - Parameters:
  ///   - features: the features of the tiles, in order of identity.
  ///   - saved: the saved places, in the order of `SavedPlaces.saved`.
  init(revision: Int, tiles: Set<Tile>, features: [TileFeature], saved: [SavedPlace]) {
    self.revision = revision
    self.tiles = tiles
    let features = PieceChoice.joining(features)
    let named = features.filter { $0.isNamed && $0.layer == .poi && $0.category != .entrance }
    let wanted = saved.filter { $0.kind != .location }.map(MapPlace.saved)
    let others = saved.filter { $0.kind == .location }.map(MapPlace.saved)
    places = MapPlace.firstOfEach(wanted + named.map(MapPlace.feature) + others)
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
    let isNear = { (feature: TileFeature) in feature.geometry.distance(to: center) <= radius }
    places = whole.places.filter { whole.distance(of: $0, from: center) <= radius }
    roads = whole.roads.filter(isNear)
    paths = whole.paths.filter(isNear)
    intersections = whole.intersections.filter(isNear)
  }

  /// Returns the part within a radius of a position. Tiles reach further than the circle they cover.
  ///
  /// Measures the distance to each feature, in memory on the calling thread.
  ///
  /// - Parameter radius: metres to the nearest point of a shape, or to an entrance for buildings.
  public func within(radius: Double, of center: Coordinate) -> PlaceSnapshot {
    PlaceSnapshot(self, radius: radius, center: center)
  }

  /// Returns the metres to the closest point of an entry's shape or to its closest entrance.
  ///
  /// It is 0 within an area. For a saved place, it is the distance to the saved position, whatever its place's shape
  /// is.
  public func distance(of entry: MapPlace, from position: Coordinate) -> Double {
    switch entry {
    case .saved(let place): return place.position.distance(to: position)
    case .feature(let feature):
      let isBuilding = feature.geometry.extent == .area
      let doors = isBuilding ? feature.ids.first.flatMap { entrances[$0] } ?? [] : []
      return NearbyPlace(feature, entrances: doors, from: position).distance
    }
  }
}
