package import BothyStore

/// Geohashes: texts for positions. A long common prefix means that positions are near.
package enum Geohash {
  private static let digits = Array("0123456789bcdefghjkmnpqrstuvwxyz".utf8)

  /// Returns the geohash of a position with a length from 1 to 12. Other lengths are clamped. Throws `BothyError`
  /// `invalidCoordinate` for an invalid position.
  package static func encode(_ coordinate: Coordinate, length: Int = 9) throws(BothyError) -> String {
    let length = min(max(length, 1), 12)
    var box = GeoBox.world
    guard box.contains(coordinate) else {
      throw BothyError(
        .invalidCoordinate,
        "(\(coordinate.latitude), \(coordinate.longitude)) is not on earth. Give a latitude from -90 to 90 and a "
          + "longitude from -180 to 180.")
    }
    var text = ""
    for place in 0..<length {
      var digit = 0
      for bit in 0..<5 {
        let isUpper: Bool
        (box, isUpper) = halve(box, byLongitude: (place * 5 + bit) % 2 == 0) { middle, byLongitude in
          (byLongitude ? coordinate.longitude : coordinate.latitude) >= middle
        }
        digit = digit << 1 | (isUpper ? 1 : 0)
      }
      text.unicodeScalars.append(Unicode.Scalar(digits[digit]))
    }
    return text
  }

  /// Returns the area that a geohash names. Throws `BothyError` `invalidKey` for an invalid text.
  package static func decode(_ text: String) throws(BothyError) -> GeoBox {
    var box = GeoBox.world
    let bytes = Array(text.lowercased().utf8)
    guard (1...12).contains(bytes.count) else {
      throw BothyError(.invalidKey, "'\(text)' isn't a geohash: it has 1 to 12 characters.")
    }
    for (place, byte) in bytes.enumerated() {
      guard let digit = digits.firstIndex(of: byte) else {
        throw BothyError(
          .invalidKey, "'\(text)' isn't a geohash: it has digits and letters other than a, i, l and o.")
      }
      for bit in 0..<5 {
        let isUpper = digit >> (4 - bit) & 1 == 1
        (box, _) = halve(box, byLongitude: (place * 5 + bit) % 2 == 0) { _, _ in isUpper }
      }
    }
    return box
  }

  private static func halve(
    _ box: GeoBox, byLongitude: Bool, upper: (Double, Bool) -> Bool
  ) -> (GeoBox, Bool) {
    let middle = byLongitude ? (box.west + box.east) / 2 : (box.south + box.north) / 2
    let isUpper = upper(middle, byLongitude)
    let half =
      byLongitude
      ? GeoBox(
        west: isUpper ? middle : box.west, south: box.south, east: isUpper ? box.east : middle,
        north: box.north)
      : GeoBox(
        west: box.west, south: isUpper ? middle : box.south, east: box.east,
        north: isUpper ? box.north : middle)
    return (half, isUpper)
  }
}
