import Bothy
import BothyPacks
import Foundation

/// A city of the pack, with its name and position.
@Entity struct City {
  var name: String
  var place: Coordinate?
}

/// One prayer of one day in one city: `oslo/2028-02-29/asr`.
@Entity struct PrayerTime {
  var city: String
  var day: String
  var prayer: String
  var time: String
}

/// The content of the pack, a folder of SQLite files that only its builder writes.
struct Times {
  private let pack: Pack

  /// Opens the pack. Throws if it lacks a type that this program reads.
  init(folder: URL) throws { pack = try Pack(at: folder, expecting: [City.self, PrayerTime.self]) }

  func cities() async throws -> [City] {
    try await pack.fetch(RecordQuery<City>().order { $0.name.ascending })
  }

  /// Returns the city with this name, or `nil`.
  func city(named name: String) async throws -> City? {
    try await cities().first { $0.name.lowercased() == name.lowercased() }
  }

  func city(nearestTo place: Coordinate) async throws -> City? {
    try await pack.fetch(RecordQuery<City>().nearest(to: place) { $0.place }.limit(1)).first
  }

  /// Returns the prayers of a day, in their order. Only the file of that city is opened.
  func day(_ day: String, in city: City) async throws -> [PrayerTime] {
    try await pack.fetch(
      RecordQuery<PrayerTime>().where { $0.city == city.id && $0.day == day }.order { $0.time.ascending })
  }

  /// Returns one prayer by its key, which reads one row.
  func prayer(_ prayer: String, on day: String, in city: City) throws -> PrayerTime? {
    try pack.fetch(PrayerTime.self, id: "\(city.id)/\(day)/\(prayer)")
  }
}
