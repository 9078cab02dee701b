import BothyStore

/// Finds the pieces of one shape among those that are added, and numbers the shapes.
///
/// Pieces with the id of an element are of one shape. A computed id is that of one shape in neighbouring tiles alone, as
/// streets far apart have the same name. Pieces with different computed ids in neighbouring tiles are of one shape if
/// each has what the other draws beyond the edge, in the margin of its tile.
struct PieceShapes {
  /// The properties that the pieces of one shape share, whatever their ids are.
  private struct Kind: Hashable {
    var layer: TileFeature.Layer
    var type: String
    var value: String
    var name: String?
    var extent: Geometry.Extent
  }

  /// The numbers of the pieces by tile, which is `nil` for those with the id of an element.
  private var numbers: [PieceIdentity: [Tile?: Int]] = [:]
  private var pieces: [Kind: [(feature: TileFeature, number: Int)]] = [:]
  /// The number that stands for each number. A lower one is of a shape that was found to be the same.
  private var lower: [Int] = []

  /// Adds a piece. Returns a number of its shape, or `nil` for a whole feature.
  mutating func add(_ feature: TileFeature) -> Int? {
    guard let identity = feature.pieceIdentity else { return nil }
    let place = ComputedID.isComputed(identity.id) ? feature.cutBy : nil
    let number = numbers[identity]?[place] ?? lower.count
    if number == lower.count { lower.append(number) }
    numbers[identity, default: [:]][place] = number
    guard let place else { return number }
    for offset in 0..<9 {
      let near = place.neighbor(east: offset % 3 - 1, south: offset / 3 - 1)
      if let near, let other = numbers[identity]?[near] { join(number, other) }
    }
    let kind = Kind(
      layer: identity.layer, type: identity.type, value: identity.value, name: feature.name,
      extent: identity.extent)
    for other in pieces[kind, default: []]
    where shape(other.number) != shape(number) && feature.continues(other.feature) {
      join(number, other.number)
    }
    pieces[kind, default: []].append((feature, number))
    return number
  }

  private mutating func join(_ one: Int, _ other: Int) {
    let (one, other) = (shape(one), shape(other))
    lower[max(one, other)] = min(one, other)
  }

  /// Returns the number that all pieces of a shape have in common so far.
  func shape(_ number: Int) -> Int {
    var number = number
    while lower[number] < number { number = lower[number] }
    return number
  }

  /// Returns whole features and the first piece of each shape, in order.
  func first<Element>(of elements: [(element: Element, number: Int?)]) -> [(element: Element, number: Int?)] {
    var seen: Set<Int> = []
    return elements.filter { _, number in number.map { seen.insert(shape($0)).inserted } ?? true }
  }
}

extension TileFeature {
  /// The part of a tile's width by which the pieces of neighbours differ at most, as encoders round and simplify.
  private static let precision = 1.0 / 500

  /// Returns true if two pieces draw the same beyond the edge between their tiles.
  fileprivate func continues(_ other: TileFeature) -> Bool {
    guard let tile = cutBy, let next = other.cutBy, tile.isBeside(next) else { return false }
    return isDrawn(beyond: next, by: other) && other.isDrawn(beyond: tile, by: self)
  }

  /// Returns true if another piece has all positions that this one has in the other's tile, and there are some.
  private func isDrawn(beyond tile: Tile, by other: TileFeature) -> Bool {
    let box = tile.bounds
    let beyond = geometry.outline.filter { box.contains($0) }
    let middle = box.center
    let side = Coordinate(latitude: middle.latitude, longitude: box.west)
    let tolerance = 2 * middle.distance(to: side) * Self.precision
    return !beyond.isEmpty && beyond.allSatisfy { other.geometry.distance(to: $0) <= tolerance }
  }
}

extension Tile {
  /// Returns true for another tile of the zoom with a common edge or corner. Columns wrap around the world.
  fileprivate func isBeside(_ other: Tile) -> Bool {
    guard zoom == other.zoom, self != other, abs(y - other.y) <= 1 else { return false }
    let columns = abs(x - other.x)
    return min(columns, 1 << zoom - columns) <= 1
  }
}
