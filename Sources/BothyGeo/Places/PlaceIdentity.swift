/// The identity that versions of one feature share.
///
/// Besides layer and id, it has the main key and the kind of extent, as one node may be both a shop and an entrance.
struct PlaceIdentity: Hashable, Comparable {
  var key: FeatureKey
  var type: String
  var extent: Geometry.Extent

  static func < (left: PlaceIdentity, right: PlaceIdentity) -> Bool {
    if left.key != right.key { return left.key < right.key }
    return (left.type, left.extent.rawValue) < (right.type, right.extent.rawValue)
  }
}

extension TileFeature {
  var identity: PlaceIdentity { PlaceIdentity(key: key, type: type, extent: geometry.extent) }
}
