import Bothy
import Foundation

/// The command line: words in, lines out.
@main struct TripCommands {
  static let usage = """
    TripPlanner FILE plan TRIP
    TripPlanner FILE stop TRIP DAY NAME [LATITUDE LONGITUDE]
    TripPlanner FILE longer NAME
    TripPlanner FILE cancel TRIP
    TripPlanner FILE show
    TripPlanner FILE near LATITUDE LONGITUDE
    TripPlanner FILE sync

    TRIPS_SERVER is the server's address (http://localhost:8080 unless set), TRIPS_TOKEN the token for it.
    """

  static func main() async {
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  static func run(_ words: [String]) async throws {
    guard let file = words.first, file != "--help" else { return print(usage) }
    let environment = ProcessInfo.processInfo.environment
    let planner = try Planner(
      file: file, server: environment["TRIPS_SERVER"] ?? "http://localhost:8080",
      token: environment["TRIPS_TOKEN"])
    let words = Array(words.dropFirst())
    switch (words.first, words.count) {
    case ("plan", 2): try await planner.plan(words[1])
    case ("stop", 4), ("stop", 6):
      guard let day = Int(words[2]) else { return print(usage) }
      try await planner.add(words[3], on: day, to: words[1], at: place(words.dropFirst(4)))
    case ("longer", 2): try await planner.stayLonger(at: words[1])
    case ("cancel", 2): try await planner.cancel(words[1])
    case ("show", 1): try await show(planner)
    case ("near", 3): try await showStops(near: place(words.dropFirst()), planner)
    case ("sync", 1): await sync(planner)
    default: print(usage)
    }
  }

  static func show(_ planner: Planner) async throws {
    for (trip, stops) in try await planner.itineraries() {
      print(trip.name)
      for stop in stops {
        print("  day \(stop.day): \(stop.name), \(stop.nights) \(stop.nights == 1 ? "night" : "nights")")
      }
    }
  }

  static func showStops(near place: Coordinate?, _ planner: Planner) async throws {
    guard let place else { return print(usage) }
    for (stop, metres) in try await planner.stops(near: place) {
      print(
        "\(stop.name): \((metres / 1000).formatted(.number.precision(.fractionLength(1)).locale(Locale(identifier: "en")))) km"
      )
    }
  }

  static func sync(_ planner: Planner) async {
    let report = await planner.sync()
    if let obstacle = report.obstacle { return print("not now: \(obstacle)") }
    print("sent \(report.pushed), received \(report.pulled)")
    for change in report.rejected { print("rejected: \(change.rejection.message)") }
  }

  static func place(_ words: some Collection<String>) -> Coordinate? {
    let numbers = words.compactMap(Double.init)
    return numbers.count == 2 ? Coordinate(latitude: numbers[0], longitude: numbers[1]) : nil
  }
}
