import BothyStore

/// The keys of indexes: bytes that sort like the values of one kind, with null first.
///
/// The first byte separates null, values and the mark of records with too many values. Whole numbers and dates are 8
/// bytes, the sign turned, numbers likewise by IEEE 754. Texts are their UTF-8, cut after `length` bytes because
/// databases limit the size of an entry. Places are cells of a quadtree.
enum FieldKey {
  static let null: [UInt8] = [0]
  /// The key of a record with more values than an index takes.
  static let many: [UInt8] = [2]
  /// The most bytes of a value.
  static let length = 200

  /// All keys of values, without null.
  static let values = KeyRange(from: [1], before: many)
  /// All keys of single values, null included.
  static let all = KeyRange(from: null, before: many)

  /// All keys.
  static let whole = KeyRange(from: null, before: many + [0])

  /// Returns true if values may differ that have this key.
  static func isCut(_ key: [UInt8]) -> Bool { key.count > length }

  static func key(_ value: FieldValue) -> [UInt8] {
    switch value {
    case .null: null
    case .bool(let flag): [1, flag ? 1 : 0]
    case .int(let number), .date(let number): key(UInt64(bitPattern: number) ^ 1 << 63)
    case .double(let number): key(ordered(number))
    case .text(let text), .json(let text): [1] + text.utf8.prefix(length)
    case .data(let data): [1] + data.prefix(length)
    case .coordinate(let place): key(QuadCells.cell(of: place))
    case .list: many
    }
  }

  static func key(_ number: UInt64) -> [UInt8] {
    [1] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// Returns bits that sort like numbers. Both zeros are one value.
  private static func ordered(_ number: Double) -> UInt64 {
    let bits = (number == 0 ? 0 : number).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }
}

/// The keys from one on, before another.
struct KeyRange: Sendable, Hashable {
  var lower: [UInt8]
  var upper: [UInt8]

  init(from lower: [UInt8], before upper: [UInt8]) {
    self.lower = lower
    self.upper = upper
  }

  /// The range of one key.
  init(of key: [UInt8]) { self.init(from: key, before: key + [0]) }

  /// The range of the values that compare with one as given. It may have others if the value's key is cut.
  init?(_ comparison: ConditionTree.Comparison, _ value: FieldValue) {
    let key = FieldKey.key(value)
    let isExact = !FieldKey.isCut(key)
    switch comparison {
    case .equal: self.init(of: key)
    case .notEqual: return nil
    case .less: self.init(from: FieldKey.values.lower, before: isExact ? key : key + [0])
    case .lessOrEqual: self.init(from: FieldKey.values.lower, before: key + [0])
    case .greater: self.init(from: isExact ? key + [0] : key, before: FieldKey.many)
    case .greaterOrEqual: self.init(from: key, before: FieldKey.many)
    }
  }

  /// The range of the texts that begin with one. It may have others if the text's key is cut.
  init(beginningWith text: String) {
    var end = FieldKey.key(.text(text))
    let start = end
    while end.last == .max { end.removeLast() }
    end[end.endIndex - 1] += 1
    self.init(from: start, before: end)
  }

  /// The single key of the range, or `nil` if it has several.
  var single: [UInt8]? { upper == lower + [0] ? lower : nil }
}

/// The cells of a quadtree over the earth, numbered so that the cells of a larger one are consecutive (Morton 1966).
enum QuadCells {
  /// The number of cells along each side: 2^32.
  private static let bits = 32
  /// The most ranges for one box.
  static let rangeLimit = 16

  static func cell(of place: Coordinate) -> UInt64 {
    interleaved(column(place.longitude), row(place.latitude))
  }

  private static func column(_ longitude: Double) -> UInt32 { step((longitude + 180) / 360) }
  private static func row(_ latitude: Double) -> UInt32 { step((latitude + 90) / 180) }

  private static func step(_ part: Double) -> UInt32 {
    UInt32(max(0, min((part * 4_294_967_296).rounded(.down), 4_294_967_295)))
  }

  private static func interleaved(_ column: UInt32, _ row: UInt32) -> UInt64 {
    spread(column) << 1 | spread(row)
  }

  private static func spread(_ number: UInt32) -> UInt64 {
    var bits = UInt64(number)
    bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
    bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
    bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333
    return (bits | bits << 1) & 0x5555_5555_5555_5555
  }

  /// A square of cells, by its first column and row and the number of halvings of the earth.
  private struct Square {
    var column: UInt64
    var row: UInt64
    var depth: Int

    var side: UInt64 { 1 << UInt64(QuadCells.bits - depth) }
    var columns: ClosedRange<UInt64> { column...(column + side - 1) }
    var rows: ClosedRange<UInt64> { row...(row + side - 1) }
    var quarters: [Square] {
      let half = side / 2
      return [(0, 0), (0, half), (half, 0), (half, half)].map {
        Square(column: column + $0.0, row: row + $0.1, depth: depth + 1)
      }
    }
  }

  /// Returns ranges of cells that contain every place in the box, and others near it.
  static func ranges(of box: GeoBox) -> [KeyRange] {
    var found: [ClosedRange<UInt64>] = []
    let parts = box.intervals
    for part in parts { found += ranges(part, limit: rangeLimit / parts.count) }
    return merged(found).map { range in
      KeyRange(from: FieldKey.key(range.lowerBound), before: FieldKey.key(range.upperBound) + [0])
    }
  }

  private static func ranges(_ box: GeoBox, limit: Int) -> [ClosedRange<UInt64>] {
    let columns = UInt64(column(box.west))...UInt64(column(box.east))
    let rows = UInt64(row(box.south))...UInt64(row(box.north))
    var open = [Square(column: 0, row: 0, depth: 0)][...]
    var done: [Square] = []
    while let square = open.popFirst() {
      let isInside = columns.contains(square.columns) && rows.contains(square.rows)
      if isInside || square.depth == bits || done.count + open.count >= limit {
        done.append(square)
      } else {
        open += square.quarters.filter { columns.overlaps($0.columns) && rows.overlaps($0.rows) }
      }
    }
    return done.map { square in
      let first = interleaved(UInt32(square.column), UInt32(square.row))
      return first...(first + (square.side &* square.side &- 1))
    }
  }

  private static func merged(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
    var merged: [ClosedRange<UInt64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, last.upperBound == .max || range.lowerBound <= last.upperBound + 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}
