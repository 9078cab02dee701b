import BothyCache
import BothyGeo
import BothyStore
import HTTPTypes
import Hummingbird

/// The routes of caches and the map.
extension InspectorRoutes {
  func caches() async throws -> Response {
    var states: [CacheState] = []
    for (cache, look) in zip(subjects.caches, looks) {
      states.append(try await CacheState(cache, entries: look.entries()))
    }
    let found = states
    return .object { writer in writer.list("caches", found) { $1.write(to: &$0) } }
  }

  func cacheEntries(_ call: Request) async throws -> Response {
    guard let number = Int(call.given("cache") ?? "0"), looks.indices.contains(number) else {
      throw HTTPFailure(.notFound, "notFound", "The cache does not exist. Go back to the list of caches.")
    }
    let entries = try await looks[number].entries()
    return .object { writer in
      CacheEntries.write(
        entries, source: call.given("source"), limit: call.count("limit", otherwise: 100, most: 500),
        to: &writer)
    }
  }

  func map(_ call: Request) async throws -> Response {
    var entries: [[ResourceCache.Inspected]] = []
    for look in looks { entries.append(try await look.entries()) }
    let map = try await MapState(subjects, entries: entries, box: Self.box(call.given("box")))
    return .object { map.write(to: &$0) }
  }

  /// Parses a box. Returns `nil` without a text. Throws `HTTPFailure` for a text that isn't a box.
  static func box(_ text: String?) throws -> GeoBox? {
    guard let text else { return nil }
    let edges = text.split(separator: ",").compactMap { Double($0) }
    guard edges.count == 4,
      let box = try? GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]).checked()
    else {
      throw HTTPFailure(.badRequest, "badBox", "A part of the map is west,south,east,north in degrees.")
    }
    return box
  }
}
