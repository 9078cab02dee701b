/// The names of tiles as texts and numbers: quadkey, Morton number, packed key, archive id.
extension Tile {
  /// The quadkey: one digit from 0 to 3 for each zoom, the coarsest first. A digit is the bit of x plus twice the bit
  /// of y. Empty at zoom 0.
  public var quadkey: String {
    var key = ""
    key.reserveCapacity(zoom)
    for bit in stride(from: zoom - 1, through: 0, by: -1) {
      key.unicodeScalars.append(Unicode.Scalar(UInt8(ascii: "0") + UInt8(x >> bit & 1 | (y >> bit & 1) << 1)))
    }
    return key
  }

  /// Creates the tile of a quadkey. An empty quadkey is the tile of zoom 0, and the number of digits is the zoom.
  ///
  /// - Throws: `BothyError` `invalidKey` for characters other than 0 to 3, or more than 29 of them.
  public init(quadkey: String) throws(BothyError) {
    let digits = quadkey.utf8
    guard digits.count <= Self.zooms.upperBound else {
      throw BothyError(
        .invalidKey,
        "A quadkey of \(digits.count) digits is too long: it has at most \(Self.zooms.upperBound), one a zoom."
      )
    }
    var (x, y) = (0, 0)
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "3")).contains(digit) else {
        throw BothyError(.invalidKey, "'\(quadkey)' isn't a quadkey: it has only digits from 0 to 3.")
      }
      let value = Int(digit - UInt8(ascii: "0"))
      x = x << 1 | value & 1
      y = y << 1 | value >> 1
    }
    self.init(uncheckedX: x, y: y, zoom: digits.count)
  }

  /// The quadkey as a number to the base 4, after one bit that separates zooms. Nearby tiles of one zoom mostly have
  /// close numbers.
  package var morton: UInt64 { 1 << UInt64(2 * zoom) | Self.spread(x) | Self.spread(y) << 1 }

  /// Creates the tile of a Morton number. Throws `BothyError` `invalidKey` if no tile has this number.
  package init(morton: UInt64) throws(BothyError) {
    let bits = UInt64.bitWidth - 1 - morton.leadingZeroBitCount
    guard morton != 0, bits % 2 == 0, bits <= 2 * Self.zooms.upperBound else {
      throw BothyError(.invalidKey, "\(morton) isn't a tile's Morton number.")
    }
    let digits = morton ^ 1 << UInt64(bits)
    self.init(uncheckedX: Self.gather(digits), y: Self.gather(digits >> 1), zoom: bits / 2)
  }

  /// The zoom in the highest 8 bits, then 28 of x and 28 of y, or `nil` at zoom 29, which doesn't fit.
  package var packedKey: UInt64? {
    zoom > 28 ? nil : UInt64(zoom) << 56 | UInt64(x) << 28 | UInt64(y)
  }

  /// Creates the tile of a packed key. Throws `BothyError` `invalidKey` if no tile has this key.
  package init(packedKey key: UInt64) throws(BothyError) {
    let mask: UInt64 = 1 << 28 - 1
    let (zoom, x, y) = (Int(key >> 56), Int(key >> 28 & mask), Int(key & mask))
    guard zoom <= 28, x < 1 << zoom, y < 1 << zoom else {
      throw BothyError(.invalidKey, "\(key) isn't a tile's key.")
    }
    self.init(uncheckedX: x, y: y, zoom: zoom)
  }

  /// Inserts a zero bit above each bit.
  private static func spread(_ value: Int) -> UInt64 {
    var bits = UInt64(value)
    bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
    bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
    bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333
    return (bits | bits << 1) & 0x5555_5555_5555_5555
  }

  /// Extracts every other bit.
  private static func gather(_ value: UInt64) -> Int {
    var bits = value & 0x5555_5555_5555_5555
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333
    bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F
    bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF
    bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF
    return Int((bits | bits >> 16) & 0x0000_0000_FFFF_FFFF)
  }
}
