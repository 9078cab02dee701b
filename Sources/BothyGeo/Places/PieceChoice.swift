/// The identity that the pieces of one shape share, which the edges of vector tiles cut.
struct PieceIdentity: Hashable {
  var layer: TileFeature.Layer
  var id: Int64
  var type: String
  var value: String
  var extent: Geometry.Extent
}

extension TileFeature {
  /// The identity of the shape that this is a piece of, or `nil` for a whole shape.
  var pieceIdentity: PieceIdentity? {
    guard cutBy != nil, let id = ids.first else { return nil }
    return PieceIdentity(layer: layer, id: id, type: type, value: value, extent: geometry.extent)
  }
}

/// Chooses one piece of each shape, so that a result has a road or lake once and not for each tile that it crosses.
enum PieceChoice {
  /// Returns whole features and the first piece of each shape, in order.
  static func first(of features: [TileFeature]) -> [TileFeature] { first(of: features) { $0 } }

  /// Returns whole features and the nearest piece of each shape, in no order.
  static func nearest(of places: [NearbyPlace]) -> [NearbyPlace] {
    guard places.contains(where: { $0.feature.cutBy != nil }) else { return places }
    return first(of: places.sorted(by: NearbyPlace.precedes), \.feature)
  }

  private static func first<Element>(
    of elements: [Element], _ feature: (Element) -> TileFeature
  ) -> [Element] {
    var shapes = PieceShapes()
    let numbered = elements.map { (element: $0, number: shapes.add(feature($0))) }
    return shapes.first(of: numbered).map(\.element)
  }

  /// Returns whole features, and one feature for the pieces of each shape, at the place of the first piece.
  static func joining(_ features: [TileFeature]) -> [TileFeature] {
    guard features.contains(where: { $0.cutBy != nil }) else { return features }
    var shapes = PieceShapes()
    let numbers = features.map { shapes.add($0) }
    var pieces: [Int: [TileFeature]] = [:]
    for case let (feature, number?) in zip(features, numbers) {
      pieces[shapes.shape(number), default: []].append(feature)
    }
    return zip(features, numbers).compactMap { feature, number in
      guard let number else { return feature }
      return pieces.removeValue(forKey: shapes.shape(number)).flatMap(joined)
    }
  }

  /// Returns one feature with the shapes of all pieces, that of the first otherwise. Returns `nil` without pieces.
  static func joined(_ pieces: [TileFeature]) -> TileFeature? {
    guard let first = pieces.first else { return nil }
    guard let shape = Geometry(joining: pieces.map(\.geometry)), let center = shape.center
    else {
      return first
    }
    return TileFeature(
      layer: first.layer, ids: first.ids, type: first.type, value: first.value, tags: first.tags,
      geometry: shape,
      name: first.name, nameTag: first.nameTag, category: first.category, center: center)
  }
}
