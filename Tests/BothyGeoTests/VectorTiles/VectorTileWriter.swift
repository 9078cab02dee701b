import BothyGeo
import Foundation

/// Writes vector tiles by hand, valid ones and others.
struct VectorTileWriter {
  private(set) var bytes: [UInt8] = []

  /// A value of a property, by its field in the specification.
  enum Value {
    case string(String)
    case float(Float)
    case double(Double)
    case int(Int64)
    case uint(UInt64)
    case sint(Int64)
    case bool(Bool)
    /// Any bytes in place of a value.
    case raw([UInt8])
  }

  /// One feature of a layer.
  struct Feature {
    var id: UInt64?
    var kind: UInt64?
    var geometry: [UInt32] = []
    var properties: [(String, Value)] = []
    /// Bytes after all others of the feature.
    var more: [UInt8] = []

    static func point(
      _ x: Int64, _ y: Int64, id: UInt64? = nil, _ properties: [(String, Value)] = []
    ) -> Feature {
      Feature(id: id, kind: 1, geometry: Pen.draw([[(x, y)]]), properties: properties)
    }

    static func line(
      _ places: [(Int64, Int64)], id: UInt64? = nil, _ properties: [(String, Value)] = []
    ) -> Feature {
      Feature(id: id, kind: 2, geometry: Pen.draw([places]), properties: properties)
    }

    static func area(
      _ rings: [[(Int64, Int64)]], id: UInt64? = nil, _ properties: [(String, Value)] = []
    ) -> Feature {
      Feature(id: id, kind: 3, geometry: Pen.draw(rings, isClosed: true), properties: properties)
    }
  }

  /// Writes commands with relative positions.
  enum Pen {
    static func draw(_ parts: [[(Int64, Int64)]], isClosed: Bool = false) -> [UInt32] {
      var commands: [UInt32] = []
      var cursor: (Int64, Int64) = (0, 0)
      func step(_ place: (Int64, Int64)) {
        for delta in [place.0 - cursor.0, place.1 - cursor.1] {
          commands.append(UInt32(truncatingIfNeeded: delta << 1 ^ delta >> 63))
        }
        cursor = place
      }
      for part in parts {
        commands.append(1 << 3 | 1)
        step(part[0])
        if part.count > 1 {
          commands.append(UInt32(part.count - 1) << 3 | 2)
          for place in part.dropFirst() { step(place) }
        }
        if isClosed { commands.append(1 << 3 | 7) }
      }
      return commands
    }
  }

  /// Adds a layer.
  mutating func layer(
    _ name: String, version: UInt64? = 2, extent: UInt64? = 4096, _ features: [Feature], more: [UInt8] = []
  ) {
    var keys: [String] = []
    var values: [[UInt8]] = []
    var message = VectorTileWriter()
    if let version { message.number(15, version) }
    message.text(1, name)
    for feature in features {
      var body = VectorTileWriter()
      var tags: [UInt64] = []
      for (key, value) in feature.properties {
        let bytes = Self.bytes(value)
        if !keys.contains(key) { keys.append(key) }
        if !values.contains(bytes) { values.append(bytes) }
        tags += [keys.firstIndex(of: key), values.firstIndex(of: bytes)].map { UInt64($0 ?? 0) }
      }
      if let id = feature.id { body.number(1, id) }
      if !tags.isEmpty { body.packed(2, tags) }
      if let kind = feature.kind { body.number(3, kind) }
      if !feature.geometry.isEmpty { body.packed(4, feature.geometry.map(UInt64.init)) }
      message.field(2, body.bytes + feature.more)
    }
    for key in keys { message.text(3, key) }
    for value in values { message.field(4, value) }
    if let extent { message.number(5, extent) }
    field(3, message.bytes + more)
  }

  /// Returns a tile of one layer.
  static func tile(_ name: String, _ features: Feature...) -> Data {
    var writer = VectorTileWriter()
    writer.layer(name, features)
    return Data(writer.bytes)
  }

  // MARK: the wire

  mutating func varint(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func number(_ field: UInt64, _ value: UInt64) {
    varint(field << 3)
    varint(value)
  }

  mutating func field(_ number: UInt64, _ content: [UInt8]) {
    varint(number << 3 | 2)
    varint(UInt64(content.count))
    bytes += content
  }

  mutating func text(_ number: UInt64, _ text: String) { field(number, Array(text.utf8)) }

  mutating func packed(_ number: UInt64, _ values: [UInt64]) {
    var content = VectorTileWriter()
    for value in values { content.varint(value) }
    field(number, content.bytes)
  }

  private static func bytes(_ value: Value) -> [UInt8] {
    var writer = VectorTileWriter()
    switch value {
    case .string(let text): writer.text(1, text)
    case .float(let number):
      writer.varint(2 << 3 | 5)
      withUnsafeBytes(of: number.bitPattern.littleEndian) { writer.bytes += $0 }
    case .double(let number):
      writer.varint(3 << 3 | 1)
      withUnsafeBytes(of: number.bitPattern.littleEndian) { writer.bytes += $0 }
    case .int(let number): writer.number(4, UInt64(bitPattern: number))
    case .uint(let number): writer.number(5, number)
    case .sint(let number): writer.number(6, UInt64(bitPattern: number << 1 ^ number >> 63))
    case .bool(let flag): writer.number(7, flag ? 1 : 0)
    case .raw(let bytes): return bytes
    }
    return writer.bytes
  }
}
