/// The number of a tile in a PMTiles archive (PMTiles specification, version 3, section 4.1). It is the position on the
/// Hilbert curve of its zoom, after all earlier zooms.
extension Tile {
  /// The number, which is 0 at zoom 0, 1 to 4 at zoom 1, and so on. Nearby tiles have close numbers.
  package var hilbertID: UInt64 {
    var (column, row, distance) = (UInt64(x), UInt64(y), UInt64(0))
    var half: UInt64 = zoom == 0 ? 0 : 1 << UInt64(zoom - 1)
    while half > 0 {
      let right: UInt64 = column & half > 0 ? 1 : 0
      let lower: UInt64 = row & half > 0 ? 1 : 0
      distance += half * half * (3 * right ^ lower)
      Self.turn(&column, &row, half, right, lower)
      half >>= 1
    }
    return Self.firstID(zoom) + distance
  }

  /// Creates the tile of a number. Throws `BothyError` `invalidKey` for a number beyond the last zoom.
  package init(hilbertID id: UInt64) throws(BothyError) {
    guard let zoom = Self.zooms.first(where: { id < Self.firstID($0 + 1) }) else {
      throw BothyError(.invalidKey, "\(id) isn't a tile's id: zooms end at \(Self.zooms.upperBound).")
    }
    var rest = id - Self.firstID(zoom)
    var (column, row) = (UInt64(0), UInt64(0))
    var side: UInt64 = 1
    while side < 1 << UInt64(zoom) {
      let right = rest >> 1 & 1
      let lower = (rest ^ right) & 1
      Self.turn(&column, &row, side, right, lower)
      column += side * right
      row += side * lower
      rest >>= 2
      side <<= 1
    }
    self.init(uncheckedX: Int(column), y: Int(row), zoom: zoom)
  }

  /// Returns the number of tiles of all earlier zooms.
  static func firstID(_ zoom: Int) -> UInt64 { (1 << UInt64(2 * zoom) - 1) / 3 }

  /// Rotates a quarter of the curve so that it begins at the end of the previous one.
  private static func turn(
    _ column: inout UInt64, _ row: inout UInt64, _ side: UInt64, _ right: UInt64, _ lower: UInt64
  ) {
    guard lower == 0 else { return }
    if right == 1 {
      column = side &- 1 &- column
      row = side &- 1 &- row
    }
    swap(&column, &row)
  }
}
