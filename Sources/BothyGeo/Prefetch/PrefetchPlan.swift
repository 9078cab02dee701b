import BothyStore
import Foundation

/// The recent activity on a map: the tiles that it shows, the zooms that it showed before, and its movement. Pure.
package struct MapActivity: Sendable {
  /// A position with its direction in degrees clockwise from north and its speed in metres a second.
  struct Motion: Sendable {
    var position: Coordinate
    var course: Double
    var speed: Double
  }

  /// The tiles on the screen, of one zoom.
  private(set) var shown: Set<Tile> = []
  /// The zooms that were shown before, the last one first. The present one isn't among them.
  private(set) var earlierZooms: [Int] = []
  /// The direction in which the map was last dragged, in degrees clockwise from north.
  private(set) var dragged: Double?
  private(set) var motion: Motion?

  /// The number of earlier zooms to remember.
  private static let remembered = 3

  package init() {}

  /// Notes the tiles on the screen. Those of the finest zoom count.
  package mutating func show(_ tiles: some Sequence<Tile>) {
    let tiles = Array(tiles)
    guard let zoom = tiles.map(\.zoom).max() else { return }
    let before = shown
    shown = Set(tiles.filter { $0.zoom == zoom })
    guard let former = before.first?.zoom else { return }
    if former != zoom {
      earlierZooms = Array(
        ([former] + earlierZooms.filter { $0 != former && $0 != zoom }).prefix(Self.remembered))
    } else if let (east, south) = Self.step(from: before, to: shown), east != 0 || south != 0 {
      dragged = atan2(east, -south) * 180 / .pi
    }
  }

  /// Notes a position. Without a valid course, the direction from the last position counts.
  package mutating func move(to position: Coordinate, course: Double?, speed: Double) {
    guard position.latitude.isFinite, position.longitude.isFinite, speed.isFinite else { return }
    let known = course.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    let way = motion.flatMap {
      $0.position == position ? nil : Geodesy.bearing(from: $0.position, to: position)
    }
    guard let course = known ?? way ?? motion?.course else {
      motion = Motion(position: position, course: 0, speed: 0)
      return
    }
    motion = Motion(position: position, course: course, speed: max(0, speed))
  }

  /// The movement that the map follows, or `nil` if it shows another place or the position stands still.
  var followed: Motion? {
    guard let motion, motion.speed > 0, let zoom = shown.first?.zoom,
      let tile = try? Tile(containing: motion.position, zoom: zoom)
    else { return nil }
    let around = (-1...1).flatMap { south in (-1...1).compactMap { tile.neighbor(east: $0, south: south) } }
    return around.contains(where: shown.contains) ? motion : nil
  }

  /// The direction in which the map is expected to go on, or `nil` if nothing is known.
  var direction: Double? { followed?.course ?? dragged }

  /// Returns the columns and rows from the middle of some tiles to that of others of the same zoom.
  private static func step(from first: Set<Tile>, to second: Set<Tile>) -> (east: Double, south: Double)? {
    guard let origin = first.min() ?? second.min() else { return nil }
    let (from, to) = (middle(first, from: origin), middle(second, from: origin))
    return (to.east - from.east, to.south - from.south)
  }

  /// Returns the mean of tiles in columns and rows from one of their zoom. Columns wrap around the world.
  private static func middle(_ tiles: Set<Tile>, from origin: Tile) -> (east: Double, south: Double) {
    let side = 1 << origin.zoom
    var sum = (east: 0.0, south: 0.0)
    for tile in tiles {
      let east = tile.x - origin.x
      sum.east += Double(2 * east > side ? east - side : 2 * east < -side ? east + side : east)
      sum.south += Double(tile.y - origin.y)
    }
    let count = Double(max(1, tiles.count))
    return (sum.east / count, sum.south / count)
  }

  /// The middle of tiles of one zoom, to the nearest tile.
  static func center(_ tiles: Set<Tile>) -> Coordinate? {
    guard let first = tiles.min() else { return nil }
    let middle = middle(tiles, from: first)
    return first.neighbor(east: Int(middle.east.rounded()), south: Int(middle.south.rounded()))?.bounds.center
  }
}

/// The tiles that a map is likely to show next, the most likely first. Pure.
package enum PrefetchPlan {
  /// The seconds ahead that a moving map is prepared for.
  private static let horizon = 90.0
  /// The longest way ahead in metres, and in halves of a tile.
  private static let farthest = 10_000.0
  private static let mostSteps = 200
  /// The angles at which the way ahead is searched, in degrees, each with its part of the way. Roads bend.
  private static let angles: [(Double, Double)] = [(0, 1), (-30, 0.5), (30, 0.5)]
  /// The cosine from which a direction counts as ahead: 60 degrees to either side.
  private static let ahead = 0.5

  /// Returns the tiles to load, without those that are shown. Beyond the last zoom, tiles of that zoom count as shown.
  ///
  /// - Parameters:
  ///   - isRingOnly: true for one ring around the shown tiles and nothing else.
  ///   - limit: the maximum number of tiles.
  package static func tiles(
    _ activity: MapActivity, in zooms: ZoomRange, isRingOnly: Bool, limit: Int
  ) -> [Tile] {
    let shown = Set(activity.shown.compactMap { zooms.stand(in: $0)?.tile })
    guard let center = MapActivity.center(shown), let zoom = shown.first?.zoom else { return [] }
    var plan: [Tile] = []
    var known = shown
    /// Returns false if the plan is full.
    func add(_ tiles: some Sequence<Tile>) -> Bool {
      for tile in tiles where zooms.contains(tile.zoom) && known.insert(tile).inserted {
        if plan.count == limit { return false }
        plan.append(tile)
      }
      return plan.count < limit
    }
    let ring = ring(around: shown, center, activity.direction)
    if isRingOnly {
      _ = add(ring.map(\.tile))
      return plan
    }
    guard add(ring.filter { $0.likelihood >= ahead }.map(\.tile)) else { return plan }
    if let motion = activity.followed, !forEachAhead(of: shown, motion, { add([$0]) }) { return plan }
    if add(ring.map(\.tile)) { _ = add(otherZooms(activity.earlierZooms, shown, center, zoom)) }
    return plan
  }

  /// Returns the tiles beside the shown ones, each with the cosine of its angle to the direction, the greatest first.
  private static func ring(
    around shown: Set<Tile>, _ center: Coordinate, _ direction: Double?
  ) -> [(tile: Tile, likelihood: Double)] {
    var found: Set<Tile> = []
    for tile in shown {
      for east in -1...1 {
        for south in -1...1 {
          if let beside = tile.neighbor(east: east, south: south), !shown.contains(beside) {
            found.insert(beside)
          }
        }
      }
    }
    let judged = found.sorted().map { tile in
      let angle = direction.map { Geodesy.bearing(from: center, to: tile.bounds.center) - $0 }
      return (tile, angle.map { cos($0 * .pi / 180) } ?? 0)
    }
    return judged.sorted { $0.1 > $1.1 }
  }

  /// Calls `body` with the tiles that the screen shows if the movement goes on, the nearest in time first, until it
  /// returns false. Returns false then.
  private static func forEachAhead(
    of shown: Set<Tile>, _ motion: MapActivity.Motion, _ body: (Tile) -> Bool
  ) -> Bool {
    let tiles = shown.sorted()
    let way = min(motion.speed * horizon, farthest)
    guard let first = tiles.first else { return true }
    // The cosine isn't zero, because no tile has its middle at a pole.
    let circle = 2 * Double.pi * Geodesy.earthRadius * cos(first.bounds.center.latitude * .pi / 180)
    let half = circle / Double(1 << first.zoom) / 2
    for number in 1...max(1, min(mostSteps, Int(way / half) + 1)) {
      let step = half * Double(number)
      for (angle, part) in angles where step <= way * part + half {
        for tile in tiles {
          let next = Geodesy.destination(
            from: tile.bounds.center, bearing: motion.course + angle, distance: step)
          // No tile contains a place beyond the last row.
          if let tile = try? Tile(containing: next, zoom: tile.zoom), !body(tile) { return false }
        }
      }
    }
    return true
  }

  /// Returns the tiles in the middle of the screen at the zooms that were shown before, then one zoom out.
  private static func otherZooms(
    _ earlier: [Int], _ shown: Set<Tile>, _ center: Coordinate, _ zoom: Int
  ) -> [Tile] {
    var zooms = earlier.filter { $0 != zoom }
    if zoom > 0, !zooms.contains(zoom - 1) { zooms.append(zoom - 1) }
    return zooms.flatMap { other -> [Tile] in
      if other < zoom { return Set(shown.compactMap { $0.ancestor(atZoom: other) }).sorted() }
      // No tile contains a place beyond the last row.
      guard let middle = try? Tile(containing: center, zoom: other) else { return [] }
      return (-1...1).flatMap { south in (-1...1).compactMap { middle.neighbor(east: $0, south: south) } }
    }
  }
}
