import BothyStore

/// One prayer time, with the hand-written conformance.
struct PrayerTime: Entity, Equatable {
  static let schema = TypeSchema(
    "PrayerTime",
    fields: [
      .field("city", String.self), .field("day", String.self, indexed: true), .field("prayer", String.self),
      .field("minute", Int.self),
    ])

  struct Fields: Sendable {
    let city = Field<String>("city")
    let day = Field<String>("day")
  }
  static let fields = Fields()

  var id: String
  var city: String
  var day: String
  var prayer: String
  var minute: Int

  init(id: String, city: String, day: String, prayer: String, minute: Int) {
    (self.id, self.city, self.day, self.prayer, self.minute) = (id, city, day, prayer, minute)
  }

  func encode(to fields: inout FieldEncoder) {
    city.encodeField(to: &fields)
    day.encodeField(to: &fields)
    prayer.encodeField(to: &fields)
    minute.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    city = try String(fromField: &fields)
    day = try String(fromField: &fields)
    prayer = try String(fromField: &fields)
    minute = try Int(fromField: &fields)
  }
}

/// 12 cities × 366 days × 6 rows, ordered by day.
enum Year {
  static let cities = 12
  static let days = 366
  private static let prayers = ["fajr", "shuruq", "dhuhr", "asr", "maghrib", "isha"]

  static let times: [PrayerTime] = (0..<days).flatMap { day in
    (0..<cities).flatMap { city in
      prayers.indices.map { number in
        let (name, date) = ("City \(city)", Self.date(day))
        return PrayerTime(
          id: "\(name)/\(date)/\(prayers[number])", city: name, day: date, prayer: prayers[number],
          minute: 240 + 180 * number + (day * 7 + city * 3) % 90)
      }
    }
  }

  static func date(_ day: Int) -> String { "2028-\(1000 + day)" }

  static var csv: String {
    "id,city,day,prayer,minute\n"
      + times.map { "\($0.id),\($0.city),\($0.day),\($0.prayer),\($0.minute)\n" }.joined()
  }
}
