/// A position on the grid of a vector tile, x to the east and y to the south.
package struct GridPoint: Sendable, Hashable {
  package var x: Int64
  package var y: Int64

  package init(_ x: Int64, _ y: Int64) {
    self.x = x
    self.y = y
  }
}

/// The shape of a feature on the grid of a vector tile.
package enum GridShape: Sendable, Hashable {
  /// One position or several.
  case points([GridPoint])
  /// One line or several, each of at least two positions.
  case lines([[GridPoint]])
  /// One polygon or several, each the outer ring and its holes. Rings are closed: the first position is again the last.
  case polygons([[[GridPoint]]])

  /// The positions of all parts.
  package var points: [GridPoint] {
    switch self {
    case .points(let points): points
    case .lines(let lines): lines.flatMap { $0 }
    case .polygons(let polygons): polygons.flatMap { $0.flatMap { $0 } }
    }
  }
}

/// Reads the commands of a geometry: MoveTo, LineTo and ClosePath, with positions relative to the one before.
///
/// A count never allocates more than the bytes that exist. The cursor can't overflow, as each step has 32 bits.
struct GridShapeReader {
  private var reader: ProtobufReader
  private let version: Int
  private var cursor = GridPoint(0, 0)

  init(_ commands: ProtobufReader, version: Int) {
    reader = commands
    self.version = version
  }

  private enum Command {
    case move(Int)
    case line(Int)
    case close
  }

  private mutating func command() throws(VectorTileDamage) -> Command? {
    if reader.isAtEnd { return nil }
    let code = try reader.uint32()
    let count = Int(code >> 3)
    switch code & 7 {
    case 1, 2:
      guard count > 0 else { throw reader.damage("a command has no positions") }
      // A number has at least one byte.
      guard count <= reader.count / 2 else {
        throw reader.damage("a command has fewer positions than it says")
      }
      return code & 7 == 1 ? .move(count) : .line(count)
    case 7:
      // Old encoders wrote no count.
      guard count == 1 || version == 1 && count == 0 else {
        throw reader.damage("a ring is closed \(count) times")
      }
      return .close
    default: throw reader.damage("a geometry has an unknown command")
    }
  }

  private mutating func step() throws(VectorTileDamage) -> GridPoint {
    cursor.x += try reader.sint32()
    cursor.y += try reader.sint32()
    return cursor
  }

  static func points(_ commands: ProtobufReader) throws(VectorTileDamage) -> GridShape {
    var reader = GridShapeReader(commands, version: 2)
    var points: [GridPoint] = []
    while let command = try reader.command() {
      guard case .move(let count) = command else {
        throw reader.reader.damage("a point has a command of another shape")
      }
      for _ in 0..<count { points.append(try reader.step()) }
    }
    return .points(points)
  }

  /// Reads lines. In version 1 a line may be closed.
  static func lines(_ commands: ProtobufReader, _ version: Int) throws -> GridShape {
    var reader = GridShapeReader(commands, version: version)
    return .lines(try reader.lines())
  }

  /// Reads polygons. Each ring has a beginning, positions and an end, which version 1 may leave out.
  ///
  /// The first ring that has an area decides which way outer rings turn. By the specification they turn clockwise as
  /// drawn. A ring that turns the other way is a hole of the one before. Rings without an area are left out.
  static func polygons(_ commands: ProtobufReader, _ version: Int) throws -> GridShape {
    var reader = GridShapeReader(commands, version: version)
    return .polygons(try reader.polygons())
  }

  private mutating func lines() throws -> [[GridPoint]] {
    var lines: [[GridPoint]] = []
    var hasRepeated = false
    while let command = try self.command() {
      switch command {
      case .move(let count): lines.append([try begin(count)])
      case .line(let count):
        guard var line = lines.popLast() else { throw reader.damage("a line has no beginning") }
        try extend(&line, count, &hasRepeated)
        lines.append(line)
      case .close:
        guard version == 1, let first = lines.last?.first else { throw reader.damage("a line is closed") }
        lines[lines.count - 1].append(first)
      }
    }
    if hasRepeated { throw BrokenFeature(reason: "a line has a position twice in succession") }
    guard lines.allSatisfy({ $0.count > 1 }) else { throw BrokenFeature(reason: "a line has one position") }
    return lines
  }

  private mutating func polygons() throws -> [[[GridPoint]]] {
    var polygons: [[[GridPoint]]] = []
    var outer = 0.0
    var ring: [GridPoint] = []
    var hasRepeated = false

    func close(_ ring: inout [GridPoint]) {
      defer { ring = [] }
      if let first = ring.first, ring.last != first { ring.append(first) }
      let area = Self.area(ring)
      guard area != 0 else { return }
      if outer == 0 { outer = area }
      if (area > 0) == (outer > 0) {
        polygons.append([ring])
      } else {
        polygons[polygons.count - 1].append(ring)
      }
    }

    while let command = try self.command() {
      switch command {
      case .move(let count):
        guard ring.isEmpty || version == 1 else { throw reader.damage("a ring isn't closed") }
        close(&ring)
        ring = [try begin(count)]
      case .line(let count):
        guard !ring.isEmpty else { throw reader.damage("a ring has no beginning") }
        try extend(&ring, count, &hasRepeated)
      case .close:
        guard !ring.isEmpty else { throw reader.damage("a ring has no beginning") }
        close(&ring)
      }
    }
    guard ring.isEmpty || version == 1 else { throw reader.damage("a ring isn't closed") }
    close(&ring)
    if hasRepeated { throw BrokenFeature(reason: "a ring has a position twice in succession") }
    guard !polygons.isEmpty else { throw BrokenFeature(reason: "its rings have no area") }
    return polygons
  }

  private mutating func begin(_ count: Int) throws(VectorTileDamage) -> GridPoint {
    guard count == 1 else { throw reader.damage("a line or ring has \(count) beginnings") }
    return try step()
  }

  private mutating func extend(
    _ line: inout [GridPoint], _ count: Int, _ hasRepeated: inout Bool
  ) throws(VectorTileDamage) {
    for _ in 0..<count {
      let before = cursor
      let next = try step()
      if next == before { hasRepeated = true }
      line.append(next)
    }
  }

  /// Returns twice the area of a closed ring by the surveyor's formula: positive if it turns clockwise as drawn.
  ///
  /// Positions are taken relative to the first one, which keeps sums exact for grids below 2^25.
  private static func area(_ ring: [GridPoint]) -> Double {
    guard let origin = ring.first else { return 0 }
    var sum = 0.0
    for (start, end) in zip(ring, ring.dropFirst()) {
      let (startX, startY) = (Double(start.x - origin.x), Double(start.y - origin.y))
      let (endX, endY) = (Double(end.x - origin.x), Double(end.y - origin.y))
      sum += startX * endY - endX * startY
    }
    return sum
  }
}
