import BothyGeo
import BothyStore
import Foundation

/// The part of the world map (EPSG:3857) that a picture shows. It converts positions to points of the picture.
struct MapPlane {
  let width: Double
  let height: Double
  private let west: Double
  private let top: Double
  private let scale: Double

  init(box: GeoBox, width: Double) {
    self.width = width
    west = box.west
    // A box without width or height is drawn as a small one.
    scale = width / max(box.width, 1e-6)
    top = Self.vertical(box.north)
    height = min(max((Self.vertical(box.south) - top) * scale, 50), width * 4)
  }

  func point(_ position: Coordinate) -> (x: Double, y: Double) {
    // Degrees east of the western edge, across the antimeridian if needed. Positions slightly west of it stay west.
    var east = (position.longitude - west).truncatingRemainder(dividingBy: 360)
    if east < -180 { east += 360 }
    if east >= 180 { east -= 360 }
    return (east * scale, (Self.vertical(position.latitude) - top) * scale)
  }

  /// Returns true if the box around a shape intersects the picture.
  func shows(_ geometry: Geometry) -> Bool {
    var (low, high) = ((x: Double.infinity, y: Double.infinity), (x: -Double.infinity, y: -Double.infinity))
    for position in geometry.outline {
      let point = point(position)
      (low.x, low.y) = (min(low.x, point.x), min(low.y, point.y))
      (high.x, high.y) = (max(high.x, point.x), max(high.y, point.y))
    }
    return low.x <= width && high.x >= 0 && low.y <= height && high.y >= 0
  }

  /// Returns the distance southwards, in degrees of longitude at the equator.
  private static func vertical(_ latitude: Double) -> Double {
    let limited = min(max(latitude, -Mercator.latitudeLimit), Mercator.latitudeLimit)
    return -log(tan(.pi / 4 + limited * .pi / 360)) * 180 / .pi
  }
}

/// Elements of an SVG document.
enum SVG {
  static func number(_ value: Double) -> String {
    let rounded = (value * 10).rounded() / 10
    return rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
  }

  static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      // XML can't represent other control characters.
      case _ where character.value < 0x20: result += " "
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }

  static func rectangle(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, fill: String, extra: String = ""
  ) -> String {
    """
    <rect x="\(number(x))" y="\(number(y))" width="\(number(width))" height="\(number(height))" fill="\(fill)"\(extra)/>
    """
  }

  static func text(
    _ x: Double, _ y: Double, size: Int, _ text: some StringProtocol, extra: String = ""
  ) -> String {
    """
    <text x="\(number(x))" y="\(number(y))" font-size="\(size)"\(extra)>\(escaped(text))</text>
    """
  }
}
