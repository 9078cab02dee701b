import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

@Suite("Hits of tiles loaded ahead", .timeLimit(.minutes(5)))
struct PrefetchRateTests {
  private static let start = Coordinate(latitude: 43.462, longitude: -80.52)

  private struct Kind {
    var name: String
    var speed: ClosedRange<Double>
    var zoom: Int
    var block: ClosedRange<Double>
    var turn: ClosedRange<Double>
    var metres: Double
  }

  private static let kinds = [
    Kind(name: "walk", speed: 1.1...1.8, zoom: 17, block: 60...180, turn: 0...90, metres: 3000),
    Kind(name: "ride", speed: 4...8, zoom: 16, block: 100...500, turn: 0...60, metres: 8000),
    Kind(name: "drive", speed: 22...33, zoom: 15, block: 400...2500, turn: 0...35, metres: 40_000),
  ]

  private func run(_ journeys: [Journey], _ perSecond: Double) async throws
    -> [PrefetchSimulation.Way: PrefetchSimulation]
  {
    var found: [PrefetchSimulation.Way: PrefetchSimulation] = [:]
    for way in PrefetchSimulation.Way.allCases {
      var simulation = PrefetchSimulation()
      for journey in journeys {
        try simulation.run(journey, way, perSecond: perSecond)
        // Two cores have two threads for all tests.
        await Task.yield()
      }
      found[way] = simulation
    }
    return found
  }

  private func tell(
    _ name: String, _ perSecond: Double, _ found: [PrefetchSimulation.Way: PrefetchSimulation]
  ) {
    let parts = PrefetchSimulation.Way.allCases.map { way -> String in
      let simulation = found[way]
      let (rate, waste) = (100 * (simulation?.rate ?? 0), 100 * (simulation?.waste ?? 0))
      return "\(way.rawValue) \(Int(rate.rounded())) %"
        + (way == .nothing ? "" : " (\(Int(waste.rounded())) % unused)")
    }
    print("Tiles ahead, \(name), \(perSecond) a second: \(parts.joined(separator: ", "))")
  }

  /// Promises: R-24
  @Test("Walks, rides and drives find most tiles loaded, on a slow network too")
  func made() async throws {
    for kind in Self.kinds {
      var random = SeededGenerator(seed: 24)
      let journeys = (0..<8).map { _ in
        let line = Journey.line(
          from: Self.start, metres: kind.metres, block: kind.block, turn: kind.turn, &random)
        return Journey(
          along: line, speed: Double.random(in: kind.speed, using: &random), zoom: kind.zoom, &random)
      }
      for perSecond in [4.0, 0.5] {
        let found = try await run(journeys, perSecond)
        tell(kind.name, perSecond, found)
        let (ring, plan) = (try #require(found[.ring]), try #require(found[.plan]))
        #expect(plan.shown > 300 && plan.rate >= ring.rate)
        #expect(plan.rate > (perSecond > 1 ? 0.95 : 0.7), "\(kind.name)")
      }
    }
  }

  /// Promises: R-24
  @Test("Walks over the roads of a town find most tiles loaded", arguments: Town.allCases)
  func roads(_ town: Town) async throws {
    let tiles = try town.tiles()
    let roads = try tiles.flatMap { tile, data in
      try GeoJSONTile(decoding: data).features(in: .road).compactMap { feature -> [Coordinate]? in
        if case .lineString(let line) = feature.geometry, line.count > 1 { line } else { nil }
      }
    }
    guard !roads.isEmpty || town == .made else { return }
    var random = SeededGenerator(seed: 24)
    let journeys = (0..<8).compactMap { _ in roads.randomElement(using: &random) }.map { road in
      Journey(
        along: Self.walk(road, roads, points: town == .made ? 100 : 400, &random), speed: 1.4, zoom: 17,
        &random)
    }
    for perSecond in [4.0, 0.5] {
      let found = try await run(journeys, perSecond)
      tell("walk on \(town.rawValue) roads", perSecond, found)
      let plan = try #require(found[.plan])
      #expect(plan.rate > (perSecond > 1 ? 0.9 : 0.7))
      #expect(plan.shown > 50 || town == .real)
    }
  }

  /// Returns a way along roads, from the end of one to the nearest begin or end of another.
  ///
  /// - Parameter count: the number of positions at which it ends.
  private static func walk(
    _ first: [Coordinate], _ roads: [[Coordinate]], points count: Int, _ random: inout SeededGenerator
  ) -> [Coordinate] {
    var way = first
    var left = Set(roads.indices)
    while way.count < count, let last = way.last {
      let near = left.compactMap { index -> (Int, [Coordinate], Double)? in
        guard let head = roads[index].first, let tail = roads[index].last else { return nil }
        let (begin, end) = (last.distance(to: head), last.distance(to: tail))
        return begin <= end ? (index, roads[index], begin) : (index, roads[index].reversed(), end)
      }
      let next = near.sorted { ($0.2, $0.0) < ($1.2, $1.0) }.prefix(3).randomElement(using: &random)
      guard let next, next.2 < 100 else { break }
      left.remove(next.0)
      way += next.1
    }
    return way
  }
}
