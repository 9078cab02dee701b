import BothyStore
import Foundation

/// Encodes and decodes features: numbers as varints, positions as in memory, and no field names.
///
/// A change of the layout needs a new version of the file.
enum FeatureCoding {
  static func encode(_ feature: TileFeature) -> Data {
    var writer = Writer()
    writer.code(feature.layer)
    writer.code(feature.category)
    writer.number(Int64(feature.ids.count))
    for id in feature.ids { writer.number(id) }
    writer.text(feature.type)
    writer.text(feature.value)
    writer.optional(feature.name)
    writer.optional(feature.nameTag)
    writer.number(Int64(feature.tags.count))
    for (key, value) in feature.tags {
      writer.text(key)
      writer.text(value)
    }
    writer.position(feature.center)
    writer.geometry(feature.geometry)
    // Whole shapes have nothing here, like all features of earlier versions.
    if let tile = feature.cutBy { writer.number(tile.rowNumber) }
    return writer.data
  }

  /// Decodes a feature. Throws `FeatureDamage` for bytes that aren't a feature.
  static func decode(_ data: Data) throws -> TileFeature {
    try data.withUnsafeBytes { bytes in
      var reader = Reader(bytes: bytes)
      let layer: TileFeature.Layer = try reader.code()
      let category: PlaceCategory = try reader.code()
      let ids = try reader.list { try $0.number() }
      let (type, value) = (try reader.text(), try reader.text())
      let (name, nameTag) = (try reader.optional(), try reader.optional())
      var tags = Tags()
      for _ in 0..<(try reader.count()) { tags.append(try reader.text(), try reader.text()) }
      let center = try reader.position()
      let geometry = try reader.geometry()
      let tile = reader.isAtEnd ? nil : try Tile(morton: UInt64(bitPattern: try reader.number()))
      return TileFeature(
        layer: layer, ids: ids, type: type, value: value, tags: tags, geometry: geometry, name: name,
        nameTag: nameTag, category: category, center: center, cutBy: tile)
    }
  }
}

/// Stored bytes that aren't a feature.
struct FeatureDamage: Error {}

extension FeatureCoding {
  private struct Writer {
    var data = Data()

    mutating func code<Value: CaseIterable & Equatable>(_ value: Value) {
      data.append(UInt8(truncatingIfNeeded: PlaceCode.of(value)))
    }

    mutating func number(_ value: Int64) {
      var rest = UInt64(bitPattern: value << 1 ^ value >> 63)
      while rest >= 0x80 {
        data.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      data.append(UInt8(rest))
    }

    mutating func text(_ value: String) {
      number(Int64(value.utf8.count))
      data.append(contentsOf: value.utf8)
    }

    mutating func optional(_ value: String?) {
      data.append(value == nil ? 0 : 1)
      if let value { text(value) }
    }

    mutating func position(_ value: Coordinate) {
      for part in [value.latitude, value.longitude] {
        withUnsafeBytes(of: part.bitPattern.littleEndian) { data.append(contentsOf: $0) }
      }
    }

    mutating func list<Element>(_ values: [Element], _ each: (inout Writer, Element) -> Void) {
      number(Int64(values.count))
      for value in values { each(&self, value) }
    }

    mutating func line(_ values: [Coordinate]) { list(values) { $0.position($1) } }
    mutating func polygon(_ value: GeoPolygon) { list(value.rings) { $0.line($1) } }

    mutating func geometry(_ value: Geometry) {
      switch value {
      case .point(let position):
        data.append(0)
        self.position(position)
      case .multiPoint(let positions):
        data.append(1)
        line(positions)
      case .lineString(let positions):
        data.append(2)
        line(positions)
      case .multiLineString(let lines):
        data.append(3)
        list(lines) { $0.line($1) }
      case .polygon(let polygon):
        data.append(4)
        self.polygon(polygon)
      case .multiPolygon(let polygons):
        data.append(5)
        list(polygons) { $0.polygon($1) }
      }
    }
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var place = 0
    var isAtEnd: Bool { place == bytes.count }

    mutating func byte() throws -> UInt8 {
      guard place < bytes.count else { throw FeatureDamage() }
      defer { place += 1 }
      return bytes[place]
    }

    mutating func code<Value: CaseIterable>() throws -> Value {
      guard let value: Value = PlaceCode.value(Int64(try byte())) else { throw FeatureDamage() }
      return value
    }

    mutating func number() throws -> Int64 {
      var (value, shift): (UInt64, UInt64) = (0, 0)
      while true {
        let byte = try byte()
        guard shift < 64 else { throw FeatureDamage() }
        value |= UInt64(byte & 0x7F) << shift
        guard byte & 0x80 != 0 else { break }
        shift += 7
      }
      return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads a count. Each element has at least one byte, so a damaged count allocates no more than the bytes that
    /// exist.
    mutating func count() throws -> Int {
      guard let count = Int(exactly: try number()), count >= 0, count <= bytes.count - place else {
        throw FeatureDamage()
      }
      return count
    }

    mutating func text() throws -> String {
      let count = try count()
      defer { place += count }
      return String(decoding: bytes[place..<place + count], as: UTF8.self)
    }

    mutating func optional() throws -> String? { try byte() == 0 ? nil : text() }

    mutating func list<Element>(_ each: (inout Reader) throws -> Element) throws -> [Element] {
      let count = try count()
      var values: [Element] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try each(&self)) }
      return values
    }

    mutating func position() throws -> Coordinate {
      guard bytes.count - place >= 16 else { throw FeatureDamage() }
      defer { place += 16 }
      let parts = (0..<2).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8 * $0, as: UInt64.self))
      }
      return Coordinate(
        latitude: Double(bitPattern: parts[0]), longitude: Double(bitPattern: parts[1]))
    }

    mutating func line() throws -> [Coordinate] { try list { try $0.position() } }

    mutating func polygon() throws -> GeoPolygon {
      guard let polygon = GeoPolygon(rings: try list { try $0.line() }) else { throw FeatureDamage() }
      return polygon
    }

    mutating func geometry() throws -> Geometry {
      switch try byte() {
      case 0: .point(try position())
      case 1: .multiPoint(try line())
      case 2: .lineString(try line())
      case 3: .multiLineString(try list { try $0.line() })
      case 4: .polygon(try polygon())
      case 5: .multiPolygon(try list { try $0.polygon() })
      default: throw FeatureDamage()
      }
    }
  }
}

/// The numbers of cases in the file, which are their positions in the order of declaration.
enum PlaceCode {
  static func of<Value: CaseIterable & Equatable>(_ value: Value) -> Int64 {
    Int64(Value.allCases.enumerated().first { $0.element == value }?.offset ?? 0)
  }

  static func value<Value: CaseIterable>(_ code: Int64) -> Value? {
    guard code >= 0, code < Value.allCases.count else { return nil }
    return Array(Value.allCases)[Int(code)]
  }
}
