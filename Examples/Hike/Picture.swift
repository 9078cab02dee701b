import Bothy
import BothyGeo
import Foundation

/// The part of the earth that a picture shows, in degrees.
struct Area {
  let west: Double
  let south: Double
  let east: Double
  let north: Double

  var box: GeoBox { GeoBox(west: west, south: south, east: east, north: north) }
}

/// A picture of a part of the map: a canvas of pixels, and its form as PNG.
struct Picture {
  /// A color with its red, green and blue.
  struct Color: Equatable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8

    static let ground = Color(red: 240, green: 236, blue: 226)
    static let water = Color(red: 160, green: 200, blue: 240)
    static let way = Color(red: 150, green: 140, blue: 120)
    static let walk = Color(red: 200, green: 40, blue: 40)
    static let place = Color(red: 40, green: 60, blue: 120)
  }

  let width: Int
  let height: Int
  private let area: Area
  private var pixels: [Color]

  init(area: Area, width: Int) {
    self.area = area
    self.width = width
    // A degree of longitude is shorter than one of latitude, by the cosine of the latitude.
    let shape =
      (area.north - area.south) / ((area.east - area.west) * cos((area.south + area.north) / 360 * .pi))
    height = max(1, Int((Double(width) * shape).rounded()))
    pixels = Array(repeating: .ground, count: width * height)
  }

  subscript(x: Int, y: Int) -> Color { pixels[y * width + x] }

  /// Draws a line of this many pixels in width.
  mutating func draw(_ line: [Coordinate], _ color: Color, width: Int = 1) {
    let points = line.map(place)
    for (start, end) in zip(points, points.dropFirst()) {
      let steps = max(1, Int(max(abs(end.x - start.x), abs(end.y - start.y)).rounded(.up)))
      for step in 0...steps {
        let part = Double(step) / Double(steps)
        dot(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part, color, width)
      }
    }
  }

  mutating func mark(_ coordinate: Coordinate, _ color: Color) {
    let point = place(coordinate)
    dot(point.x, point.y, color, 7)
  }

  /// Fills a ring by the rule of even and odd.
  mutating func fill(_ ring: [Coordinate], _ color: Color) {
    let points = ring.map(place)
    for y in 0..<height {
      let middle = Double(y) + 0.5
      let crossings = zip(points, points.dropFirst() + points.prefix(1)).compactMap { start, end -> Double? in
        guard (start.y <= middle) != (end.y <= middle) else { return nil }
        return start.x + (middle - start.y) / (end.y - start.y) * (end.x - start.x)
      }.sorted()
      for pair in stride(from: 0, to: crossings.count - 1, by: 2) {
        let first = max(0, Int(crossings[pair].rounded(.up)))
        let last = min(width - 1, Int(crossings[pair + 1].rounded(.down)))
        if first <= last { for x in first...last { pixels[y * width + x] = color } }
      }
    }
  }

  private func place(_ coordinate: Coordinate) -> (x: Double, y: Double) {
    (
      (coordinate.longitude - area.west) / (area.east - area.west) * Double(width),
      (area.north - coordinate.latitude) / (area.north - area.south) * Double(height)
    )
  }

  private mutating func dot(_ x: Double, _ y: Double, _ color: Color, _ size: Int) {
    let (left, top) = (Int(x.rounded()) - size / 2, Int(y.rounded()) - size / 2)
    for row in top..<top + size where (0..<height).contains(row) {
      for column in left..<left + size where (0..<width).contains(column) {
        pixels[row * width + column] = color
      }
    }
  }

  /// The picture as a PNG file. Its bytes aren't compressed, which needs no library.
  var png: Data {
    var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    file += Self.chunk("IHDR", Self.number(width) + Self.number(height) + [8, 2, 0, 0, 0])
    let rows = (0..<height).flatMap { y -> [UInt8] in
      [0] + pixels[y * width..<(y + 1) * width].flatMap { [$0.red, $0.green, $0.blue] }
    }
    file += Self.chunk("IDAT", Self.stored(rows))
    file += Self.chunk("IEND", [])
    return file
  }

  private static func number(_ value: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian) { Array($0) }
  }

  private static func chunk(_ name: String, _ bytes: [UInt8]) -> Data {
    let content = Array(name.utf8) + bytes
    return Data(number(bytes.count) + content + number(Int(checksum(content))))
  }

  /// Returns the bytes as a stream of zlib, in blocks that are stored as they are (RFC 1950, RFC 1951).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    let most = 65_535
    for start in stride(from: 0, to: max(bytes.count, 1), by: most) {
      let block = bytes[min(start, bytes.count)..<min(start + most, bytes.count)]
      let count = UInt16(block.count)
      stream.append(start + most >= bytes.count ? 1 : 0)
      for word in [count, ~count] { stream += [UInt8(word & 0xFF), UInt8(word >> 8)] }
      stream += block
    }
    var (low, high) = (UInt32(1), UInt32(0))
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return stream + number(Int(high << 16 | low))
  }

  /// Returns the CRC-32 of some bytes.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = .max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }
}
