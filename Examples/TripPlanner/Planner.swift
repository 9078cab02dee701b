import Bothy

/// The actions of travellers on their trips. Every method works on the file of this device, with or without a network.
struct Planner {
  private let store: SyncedStore

  init(file: String, server: String, token: String?) throws {
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    store = try SyncedStore(
      at: file, schema: StoreSchema(Trip.self, Stop.self),
      remote: BothyRemote(url: server, space: "trips", token: { token }), configuration: configuration)
  }

  func plan(_ name: String) async throws {
    try await store.write { try $0.insert(Trip(name: name)) }
  }

  func add(_ stop: String, on day: Int, to trip: String, at place: Coordinate?) async throws {
    try await store.write { transaction in
      let trip = try Self.trip(trip, in: transaction)
      try transaction.insert(Stop(name: stop, day: day, trip: Reference(trip), place: place))
    }
  }

  /// Adds one night. When devices sync, the nights of others are added, not overwritten.
  func stayLonger(at stop: String) async throws {
    try await store.write { transaction in
      guard let found = try transaction.fetch(Stop.where { $0.name == stop }.first()) else {
        throw PlannerError.unknown(stop)
      }
      try transaction.update(found) { $0.nights += 1 }
    }
  }

  /// Deletes a trip and all of its stops, in one transaction.
  func cancel(_ trip: String) async throws {
    try await store.write { transaction in
      try transaction.delete(Self.trip(trip, in: transaction))
    }
  }

  /// Returns each trip with its stops, as of one moment.
  func itineraries() async throws -> [(trip: Trip, stops: [Stop])] {
    try await store.read { transaction in
      try transaction.fetch(Trip.order(by: \.name)).map { trip in
        let stops = Stop.where { $0.trip == Reference(trip) }.order(by: \.day)
        return (trip, try transaction.fetch(stops))
      }
    }
  }

  /// Returns the stops around a place, the nearest first. An R-tree finds them.
  func stops(near place: Coordinate) async throws -> [(stop: Stop, metres: Double)] {
    try await store.fetch(Stop.all.nearest(to: place) { $0.place }.limit(3)).compactMap { stop in
      stop.place.map { (stop, place.distance(to: $0)) }
    }
  }

  func sync() async -> SyncReport { await store.sync() }

  private static func trip(_ name: String, in transaction: ReadTransaction) throws -> Trip {
    guard let trip = try transaction.fetch(Trip.where { $0.name == name }.first()) else {
      throw PlannerError.unknown(name)
    }
    return trip
  }
}

enum PlannerError: Error, CustomStringConvertible {
  case unknown(String)

  var description: String {
    switch self {
    case .unknown(let name): "There is no \(name) here. Plan it, or sync first."
    }
  }
}
