/// Ranges that hold every answer, so that an index can serve a condition.
extension GeoBox {
  /// A box that holds every place within `metres` of `centre`, a little larger than it must be.
  ///
  /// Around a pole it has all meridians; across the antimeridian `west` is greater than `east`.
  /// The meridians that touch the circle lie asin(sin r / cos φ) away from its centre.
  package init(around centre: Coordinate, metres: Double) {
    let degrees = 180 / Double.pi
    let margin = 1e-6
    let radius = metres / 6_371_008.8
    let south = centre.latitude - radius * degrees - margin
    let north = centre.latitude + radius * degrees + margin
    let ratio = sine(radius) / cosine(centre.latitude / degrees)
    let width = ratio < 1 ? arcSine(ratio) * degrees + margin : 180
    self.init(west: -180, south: max(-90, south), east: 180, north: min(90, north))
    guard south > -90, north < 90, width < 180 else { return }
    west = centre.longitude - width
    east = centre.longitude + width
    if west < -180 { west += 360 }
    if east > 180 { east -= 360 }
  }
}

extension String {
  /// The first text after all that begin with this one: its last scalar raised by one, those that are the last
  /// scalar of all dropped before. Nil when there is none. UTF-8 sorts as scalars do.
  var nextOfSameLength: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var text = String.UnicodeScalarView(scalars)
      text.append(scalar)
      return String(text)
    }
    return nil
  }

  /// ASCII capitals made small, all else kept: what SQLite's `lower` does.
  var asciiLowercased: String {
    String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
  }
}

extension [FieldValue] {
  /// The values as one JSON array, when they are all text or whole numbers.
  var jsonList: String? {
    var writer = JSONWriter()
    writer.beginArray()
    for value in self {
      switch value {
      case .text(let text) where !text.utf8.contains(0): writer.value(text)
      case .int(let number), .date(let number): writer.value(number)
      default: return nil
      }
    }
    writer.endArray()
    return writer.string
  }
}
