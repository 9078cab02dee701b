import BothyStore

/// Collects the features of one tile and joins those of one identity.
struct FeatureGroups {
  private struct Group {
    var feature: TileFeature
    var rank: Int
    /// The shapes of all features of the identity. They are joined once, as joining copies positions.
    var shapes: [Geometry]

    /// The feature with the shapes of all.
    var joined: TileFeature {
      guard shapes.count > 1, let shape = Geometry(joining: shapes), let center = shape.center else {
        return feature
      }
      return TileFeature(
        layer: feature.layer, ids: feature.ids, type: feature.type, value: feature.value, tags: feature.tags,
        geometry: shape, name: feature.name, nameTag: feature.nameTag, category: feature.category,
        center: center,
        cutBy: feature.cutBy)
    }
  }

  private var groups: [Group] = []
  private var places: [PlaceIdentity: Int] = [:]

  /// Adds a feature that a rule of a rank found. Of several with one identity, the properties of the first count.
  mutating func add(_ feature: TileFeature, _ rank: Int) {
    if let place = places[feature.identity] {
      groups[place].shapes.append(feature.geometry)
    } else {
      places[feature.identity] = groups.count
      groups.append(Group(feature: feature, rank: rank, shapes: [feature.geometry]))
    }
  }

  /// Returns the features in order.
  ///
  /// If ids are those of elements, an element is one place: that of the first rule, and an area rather than a point.
  func features(onePerID: Bool) -> [TileFeature] {
    var best: [Int64: (rank: Int, isPoint: Bool)] = [:]
    if onePerID {
      for group in groups {
        guard let (id, place) = Self.place(group) else { continue }
        if let known = best[id], Self.precedes(known, place) { continue }
        best[id] = place
      }
    }
    return groups.compactMap { group -> TileFeature? in
      if onePerID, let (id, place) = Self.place(group), let best = best[id], best != place { return nil }
      return group.joined
    }
  }

  private static func place(_ group: Group) -> (id: Int64, place: (rank: Int, isPoint: Bool))? {
    let extent = group.feature.geometry.extent
    guard group.feature.layer == .poi, extent != .line, let id = group.feature.ids.first else { return nil }
    return (id, (group.rank, extent == .point))
  }

  private static func precedes(
    _ left: (rank: Int, isPoint: Bool), _ right: (rank: Int, isPoint: Bool)
  ) -> Bool {
    left.rank == right.rank ? !left.isPoint : left.rank < right.rank
  }
}
