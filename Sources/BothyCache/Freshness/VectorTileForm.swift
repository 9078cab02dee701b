package import Foundation

/// The structure of a vector tile (Mapbox Vector Tile, version 1 or 2).
///
/// Messages of layers, each with a name, fill the bytes exactly. Geometry isn't checked.
package enum VectorTileForm {
  /// True if the bytes are a whole vector tile. Takes a step for each layer, and one for each feature.
  package static func isWhole(_ body: Data) -> Bool {
    body.withUnsafeBytes { bytes in
      var layers = 0
      let isFilled = forEachField(bytes, in: 0..<bytes.count) { number, content in
        if number >= 16 { return true }
        guard number == 3, let content, isLayer(bytes, content) else { return false }
        layers += 1
        return true
      }
      return isFilled && layers > 0
    }
  }

  private static func isLayer(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
    var hasName = false
    let isFilled = forEachField(bytes, in: range) { number, content in
      switch number {
      case 1:
        hasName = content != nil
        return hasName
      case 2, 3, 4: return content != nil
      case 5, 15: return content == nil
      default: return number >= 16
      }
    }
    return isFilled && hasName
  }

  /// Visits the fields of a message (Protocol Buffers, wire types 0, 1, 2 and 5).
  ///
  /// Returns false if they do not fill it exactly, or if `accepts` rejects one. The range is that of content with a
  /// length, or `nil` for a number.
  private static func forEachField(
    _ bytes: UnsafeRawBufferPointer, in range: Range<Int>, _ accepts: (UInt64, Range<Int>?) -> Bool
  ) -> Bool {
    var place = range.lowerBound
    while place < range.upperBound {
      guard let tag = number(bytes, &place, range.upperBound), tag >> 3 > 0 else { return false }
      var content: Range<Int>?
      var length: UInt64 = 0
      switch tag & 7 {
      case 0: guard number(bytes, &place, range.upperBound) != nil else { return false }
      case 1: length = 8
      case 2:
        guard let said = number(bytes, &place, range.upperBound) else { return false }
        length = said
      case 5: length = 4
      default: return false
      }
      guard length <= UInt64(range.upperBound - place) else { return false }
      if tag & 7 == 2 { content = place..<place + Int(length) }
      place += Int(length)
      guard accepts(tag >> 3, content) else { return false }
    }
    return true
  }

  /// Reads a number of seven bits a byte, the lowest first. Returns `nil` if it exceeds ten bytes or the end.
  private static func number(_ bytes: UnsafeRawBufferPointer, _ place: inout Int, _ end: Int) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while place < end, shift < 70 {
      let byte = bytes[place]
      place += 1
      if shift < 63 || byte <= 1 { value |= UInt64(byte & 0x7F) << shift }
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
    return nil
  }
}
