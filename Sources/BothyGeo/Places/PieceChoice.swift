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
  static func first(of features: [TileFeature]) -> [TileFeature] {
    var seen: Set<PieceIdentity> = []
    return features.filter { feature in
      feature.pieceIdentity.map { seen.insert($0).inserted } ?? true
    }
  }

  /// Returns whole features and the nearest piece of each shape, in no order.
  static func nearest(of places: [NearbyPlace]) -> [NearbyPlace] {
    guard places.contains(where: { $0.feature.cutBy != nil }) else { return places }
    var seen: Set<PieceIdentity> = []
    return places.sorted(by: NearbyPlace.precedes).filter { place in
      place.feature.pieceIdentity.map { seen.insert($0).inserted } ?? true
    }
  }

  /// Returns whole features, and one feature for the pieces of each shape, at the place of the first piece.
  static func joining(_ features: [TileFeature]) -> [TileFeature] {
    guard features.contains(where: { $0.cutBy != nil }) else { return features }
    var pieces: [PieceIdentity: [TileFeature]] = [:]
    for feature in features {
      if let piece = feature.pieceIdentity { pieces[piece, default: []].append(feature) }
    }
    return features.compactMap { feature in
      guard let piece = feature.pieceIdentity else { return feature }
      return pieces.removeValue(forKey: piece).flatMap(joined)
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
