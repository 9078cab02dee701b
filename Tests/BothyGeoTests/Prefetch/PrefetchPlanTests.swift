import BothyCache
import BothyGeo
import BothyStore
import Testing

@Suite("The plan of tiles to load ahead", .timeLimit(.minutes(5)))
struct PrefetchPlanTests {
  private let center: Tile

  init() throws { center = try Tile(x: 1000, y: 1000, zoom: 12) }

  private func plan(_ activity: MapActivity, isRingOnly: Bool = false, limit: Int = 96) -> [Tile] {
    PrefetchPlan.tiles(activity, in: .all, isRingOnly: isRingOnly, limit: limit)
  }

  private func place(_ tile: Tile) -> Coordinate { tile.bounds.center }

  @Test("Nothing is planned before tiles are shown, and never a shown tile")
  func shown() throws {
    var activity = MapActivity()
    activity.move(to: place(center), course: 0, speed: 10)
    #expect(plan(activity).isEmpty)
    let tiles = try [center, #require(center.neighbor(east: 1, south: 0))]
    activity.show(tiles)
    let plan = plan(activity)
    #expect(Set(plan).isDisjoint(with: tiles) && Set(plan).count == plan.count)
  }

  /// Promises: R-24
  @Test("A source without bulk downloads gets one ring and no more")
  func ring() throws {
    var activity = MapActivity()
    activity.show([center])
    activity.move(to: place(center), course: 90, speed: 300)
    let plan = plan(activity, isRingOnly: true)
    #expect(plan.count == 8)
    for tile in plan {
      #expect(abs(tile.x - center.x) <= 1 && abs(tile.y - center.y) <= 1 && tile.zoom == 12)
    }
    #expect(plan.first == center.neighbor(east: 1, south: 0), "the way first")
  }

  /// Promises: R-24
  @Test("A fast movement is prepared further along its way than a slow one")
  func ahead() throws {
    var activity = MapActivity()
    activity.show([center])
    func reach(_ speed: Double) -> Int {
      activity.move(to: place(center), course: 90, speed: speed)
      return plan(activity).filter { $0.zoom == 12 }.map { $0.x - center.x }.max() ?? 0
    }
    // A tile is some 3.8 km wide there.
    #expect(reach(0) == 1 && reach(1) == 1 && reach(70) == 2)
    #expect(reach(100_000) == 3, "ten kilometres at most")
    let west = plan(activity).filter { $0.zoom == 12 }.map { center.x - $0.x }.max()
    #expect(west == 1)
  }

  /// Promises: R-24
  @Test("A dragged map goes on in its direction")
  func dragged() throws {
    var activity = MapActivity()
    activity.show([center])
    activity.show([try #require(center.neighbor(east: 0, south: 1))])
    #expect(plan(activity).first == center.neighbor(east: 0, south: 2))
  }

  @Test("A drag keeps its direction, and a map elsewhere forgets the position")
  func direction() throws {
    var activity = MapActivity()
    func rows(_ range: ClosedRange<Int>) throws -> [Tile] {
      try range.map { try Tile(x: 1000, y: 1000 + $0, zoom: 12) }
    }
    for range in [0...2, 0...3, 1...3, 1...4, 2...4] {
      activity.show(try rows(range))
      if range != 0...2 {
        #expect(plan(activity).first == (try Tile(x: 1000, y: 1001 + range.upperBound, zoom: 12)))
      }
    }
    activity.move(to: place(try Tile(x: 1000, y: 1003, zoom: 12)), course: 0, speed: 20)
    #expect(plan(activity).first == (try Tile(x: 1000, y: 1001, zoom: 12)))
    activity.move(to: place(try Tile(x: 3000, y: 1003, zoom: 12)), course: 0, speed: 20)
    #expect(plan(activity).first == (try Tile(x: 1000, y: 1005, zoom: 12)), "the drag again")
  }

  @Test("Invalid positions and courses change nothing")
  func invalid() throws {
    var activity = MapActivity()
    activity.show([center])
    activity.move(to: place(center), course: 90, speed: 200)
    let before = plan(activity)
    activity.move(to: Coordinate(latitude: .nan, longitude: 0), course: 0, speed: 200)
    activity.move(to: place(center), course: .nan, speed: 200)
    activity.move(to: place(center), course: -1, speed: 200)
    activity.move(to: place(center), course: 0, speed: .infinity)
    #expect(plan(activity) == before)
  }

  @Test("Beyond the last zoom, tiles of that zoom are planned")
  func beyond() throws {
    var activity = MapActivity()
    activity.show(try #require(center.children.first).children)
    let plan = PrefetchPlan.tiles(activity, in: try ZoomRange(0, 12), isRingOnly: true, limit: 96)
    #expect(plan.count == 8 && plan.allSatisfy { $0.zoom == 12 })
  }

  @Test("A plan costs no more than its limit on any screen", .timeLimit(.minutes(5)))
  func cost() throws {
    let corner = try Tile(x: 100_000, y: 100_000, zoom: 18)
    let screen = (0..<60).flatMap { south in (0..<60).compactMap { corner.neighbor(east: $0, south: south) } }
    for tiles in [screen, [try Tile(x: 0, y: 0, zoom: 0)], [try Tile(x: 1 << 28, y: 1 << 28, zoom: 29)]] {
      var activity = MapActivity()
      activity.show(tiles)
      activity.move(to: place(tiles[0]), course: 45, speed: 300)
      for _ in 0..<20 { #expect(plan(activity).count <= 96) }
    }
  }

  /// Promises: R-24
  @Test("The zooms that were shown before are planned, then one zoom out")
  func zooms() throws {
    var activity = MapActivity()
    activity.show([try #require(center.ancestor(atZoom: 8))])
    activity.show([center])
    let coarse = plan(activity).filter { $0.zoom != 12 }
    #expect(coarse == [center.ancestor(atZoom: 8), center.ancestor(atZoom: 11)])
    activity.show(try #require(center.children.first).children.prefix(1))
    #expect(plan(activity).filter { $0.zoom == 12 } == [center])
    activity.show([center])
    #expect(plan(activity).filter { $0.zoom == 14 }.count == 9, "back in around the middle")
    let range = try ZoomRange(14, 16)
    let only = PrefetchPlan.tiles(activity, in: range, isRingOnly: false, limit: 96)
    #expect(only.allSatisfy { range.contains($0.zoom) })
    #expect(plan(activity, limit: 5).count == 5)
  }

  @Test("Across the antimeridian and at the poles, only existing tiles are planned")
  func edges() throws {
    for tile in [
      try Tile(x: 0, y: 0, zoom: 4), try Tile(x: 15, y: 15, zoom: 4), try Tile(x: 0, y: 0, zoom: 0),
    ] {
      var activity = MapActivity()
      activity.show([tile])
      activity.move(to: place(tile), course: 0, speed: 250)
      for planned in plan(activity) {
        #expect(try Tile(x: planned.x, y: planned.y, zoom: planned.zoom) == planned && planned != tile)
      }
    }
    var activity = MapActivity()
    activity.show(try [Tile(x: 15, y: 7, zoom: 4), Tile(x: 0, y: 7, zoom: 4)])
    #expect(Set(plan(activity, isRingOnly: true).map(\.x)) == [14, 15, 0, 1])
  }

  @Test(
    "An hour has its bytes, fewer where they cost money")
  func allowance() {
    let free = NetworkState.reachable
    let metered = NetworkState(isReachable: true, isExpensive: true)
    var allowance = PrefetchAllowance(bytesPerHour: 1_000_000, policy: PrefetchPolicy())
    #expect(allowance.limit(free) == 1_000_000 && allowance.limit(metered) == 100_000)
    for other in [
      NetworkState.notReachable, NetworkState(isReachable: true, isConstrained: true),
      NetworkState(isReachable: true, isExpensive: true, isConstrained: true),
      NetworkState(isReachable: true, isLowPower: true),
    ] { #expect(allowance.limit(other) == 0 && allowance.begin(at: 0, other) == nil) }
    let all = PrefetchPolicy(onMeteredNetworks: true, inLowPowerMode: true)
    #expect(PrefetchAllowance(bytesPerHour: 9, policy: all).limit(metered) == 9)
    var loads = 0
    while let estimate = allowance.begin(at: 1000, free) {
      allowance.end(estimate, bytes: 50_000, at: 1000)
      loads += 1
    }
    #expect((18...20).contains(loads))
    #expect(allowance.begin(at: 3_600_999, free) == nil)
    #expect(allowance.begin(at: 3_601_000, free) != nil, "the hour is over")
    // Stored tiles cost nothing, and loads that have begun count.
    var other = PrefetchAllowance(bytesPerHour: 60_000, policy: PrefetchPolicy())
    let first = other.begin(at: 0, free)
    #expect(first != nil && other.begin(at: 0, free) != nil && other.begin(at: 0, free) == nil)
    if let first { other.end(first, bytes: nil, at: 0) }
    #expect(other.begin(at: 0, free) != nil)
  }

  @Test("A clock that is set back gives no hour its bytes twice")
  func clockSetBack() throws {
    let free = NetworkState.reachable
    var allowance = PrefetchAllowance(bytesPerHour: 100_000, policy: PrefetchPolicy())
    let begun = allowance.begin(at: 5_000_000, free)
    let first = try #require(begun)
    allowance.end(first, bytes: 100_000, at: 5_000_000)
    #expect(allowance.begin(at: 1_000_000, free) == nil)
    #expect(allowance.begin(at: 4_600_000, free) != nil)
  }
}
