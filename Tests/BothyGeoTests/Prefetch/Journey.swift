import BothyGeo
import BothyStore
import BothyTesting
import Foundation

/// A movement over roads, one position a second, with the zoom that the map has at each.
struct Journey {
  struct Moment {
    var position: Coordinate
    var course: Double
    var speed: Double
    var zoom: Int
  }

  var moments: [Moment] = []

  /// Goes along a line of positions at a speed in metres a second. Now and then the person looks at a coarser map.
  init(along line: [Coordinate], speed: Double, zoom: Int, _ random: inout SeededGenerator) {
    guard var here = line.first else { return }
    var looking = 0
    var until = Int.random(in: 30...90, using: &random)
    for next in line.dropFirst() {
      let course = Geodesy.bearing(from: here, to: next)
      var left = here.distance(to: next)
      while left > speed {
        here = Geodesy.destination(from: here, bearing: course, distance: speed)
        left -= speed
        if moments.count >= until {
          looking = looking == 0 ? Int.random(in: 1...2, using: &random) : 0
          until +=
            looking == 0 ? Int.random(in: 40...90, using: &random) : Int.random(in: 5...15, using: &random)
        }
        moments.append(Moment(position: here, course: course, speed: speed, zoom: zoom - looking))
      }
      here = next
    }
  }

  /// Returns a line over made roads: blocks of a town on foot, long bends by car.
  static func line(
    from start: Coordinate, metres: Double, block: ClosedRange<Double>, turn: ClosedRange<Double>,
    _ random: inout SeededGenerator
  ) -> [Coordinate] {
    var (line, left) = ([start], metres)
    var course = Double.random(in: 0..<360, using: &random)
    while left > 0, let last = line.last {
      let part = Double.random(in: block, using: &random)
      line.append(Geodesy.destination(from: last, bearing: course, distance: part))
      left -= part
      let angle = Double.random(in: turn, using: &random)
      course += random.chance(50) ? angle : -angle
    }
    return line
  }
}

/// A phone that shows tiles around a position and loads some ahead, so many a second.
struct PrefetchSimulation {
  enum Way: String, CaseIterable { case nothing, ring, plan }

  private(set) var shown = 0
  private(set) var hits = 0
  private(set) var loaded = 0
  private(set) var used = 0
  var rate: Double { Double(hits) / Double(max(1, shown)) }
  /// The part of the tiles loaded ahead that were never shown.
  var waste: Double { loaded == 0 ? 0 : 1 - Double(used) / Double(loaded) }

  /// - Parameter perSecond: the tiles that arrive within a second.
  mutating func run(_ journey: Journey, _ way: Way, perSecond: Double) throws {
    var activity = MapActivity()
    var stored: Set<Tile> = []
    var ahead: Set<Tile> = []
    var screen: Set<Tile> = []
    var capacity = 0.0
    for (second, moment) in journey.moments.enumerated() {
      let now = try Self.screen(moment)
      for tile in now.subtracting(screen) where second > 0 {
        shown += 1
        if stored.contains(tile) { hits += 1 }
      }
      used += ahead.intersection(now).count
      ahead.subtract(now)
      // What is shown and missing is loaded before anything ahead.
      capacity = min(capacity + perSecond, 8) - Double(now.subtracting(stored).count)
      stored.formUnion(now)
      screen = now
      activity.show(now)
      activity.move(to: moment.position, course: moment.course, speed: moment.speed)
      guard way != .nothing else { continue }
      let plan = PrefetchPlan.tiles(activity, in: .all, isRingOnly: way == .ring, limit: 96)
      for tile in plan where capacity >= 1 && stored.insert(tile).inserted {
        capacity -= 1
        loaded += 1
        ahead.insert(tile)
      }
    }
  }

  /// Returns the tiles of a screen of 390 by 844 points, with tiles of 256.
  private static func screen(_ moment: Journey.Moment) throws -> Set<Tile> {
    let middle = try Tile(containing: moment.position, zoom: moment.zoom)
    let bounds = middle.bounds
    let across = (moment.position.longitude - bounds.west) / (bounds.east - bounds.west)
    let down = (bounds.north - moment.position.latitude) / (bounds.north - bounds.south)
    func reach(_ part: Double, _ points: Double) -> ClosedRange<Int> {
      let half = points / 2 / 256
      return Int((part - half).rounded(.down))...Int((part + half).rounded(.down))
    }
    var tiles: Set<Tile> = []
    for east in reach(across, 390) {
      for south in reach(down, 844) {
        if let tile = middle.neighbor(east: east, south: south) { tiles.insert(tile) }
      }
    }
    return tiles
  }
}
