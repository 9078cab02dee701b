import BothyPacks
import BothyStore
import BothyTestSupport
import Foundation

/// A small version of data that an app ships: cities, and times of a year for each.
struct City: Entity, Equatable {
  static let schema = TypeSchema(
    "City",
    fields: [
      .field("name", String.self, fullText: true), .field("place", Coordinate.self, indexed: true),
    ])

  struct Fields: Sendable {
    let name = Field<String>("name")
    let place = Field<Coordinate>("place")
  }
  static let fields = Fields()

  var id: String
  var name: String
  var place: Coordinate

  init(_ id: String, _ name: String, _ place: Coordinate) {
    (self.id, self.name, self.place) = (id, name, place)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    place.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    place = try Coordinate(fromField: &fields)
  }
}

struct PrayerTime: Entity, Equatable {
  static let schema = TypeSchema(
    "PrayerTime",
    fields: [
      .field("city", String.self), .field("day", Int.self, indexed: true), .field("prayer", String.self),
      .field("minute", Int.self), .field("note", String?.self),
    ])

  struct Fields: Sendable {
    let city = Field<String>("city")
    let day = Field<Int>("day")
    let prayer = Field<String>("prayer")
    let minute = Field<Int>("minute")
  }
  static let fields = Fields()

  var id: String
  var city: String
  var day: Int
  var prayer: String
  var minute: Int
  var note: String?

  init(_ city: Int, _ day: Int, _ number: Int, note: String? = nil) {
    (self.city, self.day, prayer) = ("City \(city)", day, Times.prayers[number])
    id = "\(city)/\(day)/\(prayer)"
    minute = 240 + 180 * number + (day * 7 + city * 3) % 90
    self.note = note
  }

  func encode(to fields: inout FieldEncoder) {
    city.encodeField(to: &fields)
    day.encodeField(to: &fields)
    prayer.encodeField(to: &fields)
    minute.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    city = try String(fromField: &fields)
    day = try Int(fromField: &fields)
    prayer = try String(fromField: &fields)
    minute = try Int(fromField: &fields)
    note = try String?(fromField: &fields)
  }
}

/// A version of the type in an app with fewer fields, in another order.
struct BriefTime: Entity, Equatable {
  static let typeName = "PrayerTime"
  static let schema = TypeSchema(
    "PrayerTime", fields: [.field("minute", Double.self), .field("city", String?.self)])

  var id: String
  var minute: Double
  var city: String?

  func encode(to fields: inout FieldEncoder) {
    minute.encodeField(to: &fields)
    city.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    minute = try Double(fromField: &fields)
    city = try String?(fromField: &fields)
  }
}

/// A version of the type in an app that knows two prayers and one city, and shows others as the default or as none.
struct FamiliarTime: Entity {
  enum Prayer: String, FieldConvertible { case fajr, isha }
  enum Place: String, FieldConvertible { case first = "City 1" }
  static let typeName = "PrayerTime"
  static let schema = TypeSchema(
    "PrayerTime",
    fields: [.field("prayer", Prayer.self, default: .fajr), .field("city", Place?.self)])

  var id: String
  var prayer: Prayer
  var city: Place?

  func encode(to fields: inout FieldEncoder) {
    prayer.encodeField(to: &fields)
    city.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    prayer = try Prayer(fromField: &fields)
    city = try Place?(fromField: &fields)
  }
}

/// A version of the type in an app that needs one of two prayers.
struct StrictTime: Entity {
  static let typeName = "PrayerTime"
  static let schema = TypeSchema("PrayerTime", fields: [.field("prayer", FamiliarTime.Prayer.self)])

  var id: String
  var prayer: FamiliarTime.Prayer

  func encode(to fields: inout FieldEncoder) { prayer.encodeField(to: &fields) }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    prayer = try FamiliarTime.Prayer(fromField: &fields)
  }
}

/// A type whose fields the pack lacks.
struct OtherTime: Entity {
  static let typeName = "PrayerTime"
  static let schema = TypeSchema(
    "PrayerTime",
    fields: [
      .field("minute", String.self), .field("second", Int.self), .field("note", String.self),
      .field("prayer", Decimal.self),
    ])

  var id: String

  func encode(to fields: inout FieldEncoder) {}

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) { self.id = id }
}

/// Packs of cities and times.
enum Times {
  static let prayers = ["fajr", "shuruq", "dhuhr", "asr", "maghrib", "isha"]

  static func cities(_ count: Int) -> [City] {
    (0..<count).map {
      City(
        "\($0)", $0 == 0 ? "Al-Jahrā’" : "City \($0)",
        Coordinate(latitude: 29 + Double($0) / 10, longitude: 47 + Double($0) / 20))
    }
  }

  static func times(cities: Int, days: Int, note: String? = nil) -> [PrayerTime] {
    (0..<days).flatMap { day in
      (0..<cities).flatMap { city in prayers.indices.map { PrayerTime(city, day, $0, note: note) } }
    }
  }

  /// Builds a pack, by default with its times split by city.
  @discardableResult
  static func build(
    _ folder: TemporaryFolder, _ name: String = "times", version: String = "1", cities: Int = 12,
    days: Int = 4,
    isSplit: Bool = true, note: String? = nil, packName: String = "prayer-times"
  ) throws -> URL {
    let url = folder.url(name)
    let builder = PackBuilder(
      name: packName, version: version, schema: StoreSchema(City.self, PrayerTime.self),
      shardBy: isSplit ? ["PrayerTime": "city"] : [:])
    try builder.build(at: url) { pack in
      for city in Self.cities(cities) { try pack.add(city) }
      for time in times(cities: cities, days: days, note: note) { try pack.add(time) }
    }
    return url
  }
}
