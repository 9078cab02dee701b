package import BothyStore

/// An overview of all places, for code that draws them.
extension PlaceStore {
  /// Returns up to `limit` features near a box, named places first, and their total number. Decodes only the returned
  /// features.
  package func features(
    near box: GeoBox, _ filter: PlaceFilter, limit: Int
  ) throws(BothyError) -> (features: [TileFeature], total: Int) {
    try box.checked()
    return try read { database in
      let reader = PlaceReader(database)
      let admitted = try reader.candidates(in: box).filter {
        filter.admits($0.layer, $0.category, isNamed: $0.isNamed)
      }
      let first = admitted.filter(\.isNamed) + admitted.filter { !$0.isNamed }
      return (try first.prefix(limit).map { try reader.feature($0.version) }, admitted.count)
    }
  }
}
