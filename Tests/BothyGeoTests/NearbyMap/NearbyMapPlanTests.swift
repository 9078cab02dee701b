import BothyGeo
import BothyStore
import Testing

@Suite("The decisions of an atlas", .timeLimit(.minutes(5)))
struct NearbyMapPlanTests {
  private let start = Coordinate(latitude: 43.462, longitude: -80.52)
  private let week = PlaceTile.defaultLifetime

  private func east(_ metres: Double) -> Coordinate {
    Geodesy.destination(from: start, bearing: 90, distance: metres)
  }

  private func expect(
    _ throttle: inout RefreshThrottle, _ expected: Bool, _ position: Coordinate, at time: Int64,
    vehicleSpeed: Double? = nil, _ place: SourceLocation = #_sourceLocation
  ) {
    let isAccepted = throttle.accepts(position, at: time, vehicleSpeed: vehicleSpeed)
    #expect(isAccepted == expected, sourceLocation: place)
  }

  @Test("On foot a position counts after more than five seconds and five metres")
  func foot() {
    var throttle = RefreshThrottle()
    expect(&throttle, false, Coordinate(latitude: .nan, longitude: 0), at: 0)
    expect(&throttle, true, start, at: 0)
    expect(&throttle, false, east(100), at: 5000)
    expect(&throttle, false, east(4.9), at: 60_000)
    expect(&throttle, true, east(5.1), at: 5001)
    expect(&throttle, false, start, at: 10_001)
    expect(&throttle, true, start, at: -9)
    throttle.reset()
    expect(&throttle, true, start, at: -9)
  }

  @Test("In a vehicle a position counts after twenty seconds and five seconds' distance")
  func vehicle() {
    var throttle = RefreshThrottle()
    expect(&throttle, true, start, at: 0, vehicleSpeed: 20)
    expect(&throttle, false, east(500), at: 20_000, vehicleSpeed: 20)
    expect(&throttle, false, east(99), at: 20_001, vehicleSpeed: 20)
    expect(&throttle, true, east(101), at: 20_001, vehicleSpeed: 20)
    expect(&throttle, true, start, at: 50_000, vehicleSpeed: .nan)
  }

  /// Promises: T-13, T-35
  @Test("The tile of the position comes first, alone if missing, the others by distance")
  func order() throws {
    let plan = try NearbyMapPlan(around: start, held: [:], at: 0)
    let current = try Tile(containing: start, zoom: 16)
    #expect(plan.current == current && plan.cover.first == current && !plan.canShow)
    #expect((9...16).contains(plan.cover.count))
    #expect(plan.stages.first == [current])
    #expect(plan.stages.count == 2 && plan.stages[1] == Array(plan.cover.dropFirst()) && !plan.tellsCurrent)
    let distances = plan.stages[1].map { $0.bounds.distance(to: start) }
    #expect(distances == distances.sorted())
    let others = Dictionary(uniqueKeysWithValues: plan.cover.dropFirst().map { ($0, Int64(0)) })
    let alone = try NearbyMapPlan(around: start, held: others, at: week)
    #expect(alone.tellsCurrent && alone.stages == plan.stages)
  }

  /// Promises: T-22
  @Test("Missing and expired tiles are fetched, also those of markers, and fresh ones aren't")
  func needed() throws {
    let cover = try NearbyMapPlan(around: start, held: [:], at: 0).cover
    var held = Dictionary(uniqueKeysWithValues: cover.map { ($0, Int64(1000)) })
    let marker = try Tile(x: 5, y: 6, zoom: 16)
    #expect(try NearbyMapPlan(around: start, held: held, at: 1000 + week - 1).stages == [])
    #expect(try NearbyMapPlan(around: start, held: held, at: 1000 + week).stages == [cover])
    #expect(try NearbyMapPlan(around: start, held: held, required: [marker], at: 2000).stages == [[marker]])
    held[cover[2]] = nil
    held[cover[3]] = -week
    let plan = try NearbyMapPlan(around: start, held: held, at: 2000)
    #expect(plan.stages == [[cover[2], cover[3]]] && plan.canShow)
    // A clock that was set back makes no tile immortal.
    #expect(try NearbyMapPlan(around: start, held: held, at: 999).stages == [cover])
    #expect(throws: BothyError.self) {
      try NearbyMapPlan(around: Coordinate(latitude: .nan, longitude: 0), held: [:], at: 0)
    }
  }

  private struct Refusal: Error {}

  /// Promises: T-36
  @Test("A report has the outcome of each tile, and only the position's sets `.error`")
  func report() throws {
    let tiles = try (0..<5).map { try Tile(x: $0, y: 0, zoom: 16) }
    var report = NearbyMap.Report()
    report.note(tiles[0], .failed(Refusal()), isHeld: true)
    report.note(tiles[1], .failed(Refusal()), isHeld: false)
    report.note(tiles[2], .loaded(isNew: true), isHeld: false)
    report.note(tiles[3], .unchanged, isHeld: true)
    report.note(tiles[4], .absent, isHeld: false)
    #expect(report.count == 5 && Set(report.failed.keys) == [tiles[0], tiles[1]])
    #expect(report.loaded == [tiles[2]] && report.unchanged == [tiles[3]] && report.fromStale == [tiles[0]])
    #expect(NearbyMap.State(after: report, current: tiles[0], isHeld: true) == .ready)
    #expect(NearbyMap.State(after: report, current: tiles[1], isHeld: false) == .error)
    #expect(NearbyMap.State(after: report, current: tiles[2], isHeld: true) == .ready)
    #expect(NearbyMap.State(after: report, current: tiles[4], isHeld: false) == .ready)
  }
}
