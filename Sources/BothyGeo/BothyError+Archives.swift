import BothyCore

extension BothyError {
  /// True if the error is one of maps already, rather than one of the file below.
  var isOfMaps: Bool {
    [
      .invalidCoordinate, .invalidTile, .invalidKey, .zoomOutOfRange, .tooManyTiles, .notATile,
      .invalidCategories, .notAnArchive, .damagedArchive, .changedArchive, .unavailable, .damagedPlaces,
      .invalidSource, .invalidRegion, .bulkForbidden, .regionExists, .unknownRegion, .regionBusy,
      .interrupted, .signInRequired,
    ].contains(code)
  }

  static func taken(_ path: String) -> BothyError {
    BothyError(.unavailable, "There is a file at \(path) already. Choose another path, or remove it first.")
  }
}
