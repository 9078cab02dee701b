import Bothy
import Foundation

/// Prints prayer times from a pack.
@main struct TimesCommands {
  static let usage = """
    PrayerTimes PACK                        the cities
    PrayerTimes PACK CITY DAY               a day, 2028-02-29
    PrayerTimes PACK CITY DAY PRAYER        one time
    PrayerTimes PACK near LATITUDE LONGITUDE
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
    guard let folder = words.first, folder != "--help" else { return print(usage) }
    let times = try Times(folder: URL(filePath: folder))
    if words.count == 1 {
      for city in try await times.cities() { print(city.name) }
    } else if words.count == 4, words[1] == "near", let latitude = Double(words[2]),
      let longitude = Double(words[3])
    {
      let city = try await times.city(nearestTo: Coordinate(latitude: latitude, longitude: longitude))
      print(city?.name ?? "The pack has no cities.")
    } else if words.count > 2 {
      guard let city = try await times.city(named: words[1]) else { throw Missing(what: words[1]) }
      if words.count == 4 {
        guard let prayer = try times.prayer(words[3], on: words[2], in: city) else {
          throw Missing(what: words[3])
        }
        print(prayer.time)
      } else {
        let day = try await times.day(words[2], in: city)
        guard !day.isEmpty else { throw Missing(what: words[2]) }
        for prayer in day { print("\(prayer.time) \(prayer.prayer)") }
      }
    } else {
      print(usage)
    }
  }
}

/// The error for a city, day or prayer that the pack doesn't have.
struct Missing: Error, CustomStringConvertible {
  let what: String

  var description: String { "The pack has no \(what)." }
}
