import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Days without a time zone, as values and as fields.
@Suite(.timeLimit(.minutes(5))) struct CalendarDateTests {
  private static let utc = TimeZone.gmt

  private func day(_ text: String) throws -> CalendarDate { try #require(CalendarDate(rawValue: text)) }

  @Test("Days have the numbers of Foundation's calendar, and sort like moments", arguments: 0..<10)
  func numbers(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = Self.utc
    var found: [(seconds: Double, day: CalendarDate)] = []
    for _ in 0..<300 {
      // From 1600 on, where Foundation's calendar has no Julian years.
      let seconds = Double(Int.random(in: -11_676_096_000...253_402_300_799, using: &random))
      let moment = Date(timeIntervalSince1970: seconds)
      let day = CalendarDate(moment, in: Self.utc)
      let parts = calendar.dateComponents([.year, .month, .day], from: moment)
      #expect(
        day.year == parts.year && day.month == parts.month && day.day == parts.day, "\(seconds): \(day)")
      #expect(CalendarDate(year: day.year, month: day.month, day: day.day) == day)
      #expect(calendar.date(from: day.components) == calendar.startOfDay(for: moment))
      #expect(CalendarDate(rawValue: day.rawValue) == day)
      found.append((seconds, day))
    }
    for (left, right) in zip(found, found.dropFirst()) where left.day != right.day {
      #expect((left.day < right.day) == (left.seconds < right.seconds))
    }
  }

  @Test("Every day of four centuries follows the one before")
  func succession() throws {
    var before = CalendarDate(Date(timeIntervalSince1970: -11_676_182_400), in: Self.utc)
    #expect(before.rawValue == "1599-12-31")
    for number in 0..<146_097 {
      let next = CalendarDate(
        Date(timeIntervalSince1970: -11_676_096_000 + Double(number) * 86_400), in: Self.utc)
      guard before < next, next.day == before.day + 1 || next.day == 1 else {
        Issue.record("\(next) follows \(before)")
        return
      }
      before = next
    }
    #expect(before.rawValue == "1999-12-31")
  }

  @Test(
    "A text that is no day is refused",
    arguments: [
      "", "2026-3-9", "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-01", "2026-01-00",
      "0000-01-01", "2026-01-01T00:00:00Z", "２026-01-01", "+026-01-01", "2026/01/01", " 2026-01-01",
    ])
  func refused(text: String) { #expect(CalendarDate(rawValue: text) == nil) }

  @Test("A moment is another day elsewhere, and one beyond all years the nearest")
  func timeZones() throws {
    let moment = Date(timeIntervalSince1970: 1_773_012_600)  // 2026-03-08T23:30:00Z
    let east = try #require(TimeZone(secondsFromGMT: 3600))
    #expect(CalendarDate(moment, in: Self.utc).rawValue == "2026-03-08")
    #expect(CalendarDate(moment, in: east).rawValue == "2026-03-09")
    #expect(CalendarDate(Date(timeIntervalSince1970: -.infinity), in: east).rawValue == "0001-01-01")
    #expect(CalendarDate(Date(timeIntervalSince1970: .infinity), in: east).rawValue == "9999-12-31")
    #expect(CalendarDate(year: 2024, month: 2, day: 29)?.rawValue == "2024-02-29")
    #expect(CalendarDate(year: 10_000, month: 1, day: 1) == nil)
  }

  private struct Stay: Entity {
    static let schema = TypeSchema(
      "Stay",
      fields: [.field("night", CalendarDate?.self, indexed: true), .field("weight", Float.self, default: 0)])
    struct Fields: Sendable {
      let night = Field<CalendarDate?>("night")
      let weight = Field<Float>("weight")
    }
    static let fields = Fields()

    var id: String
    var night: CalendarDate?
    var weight: Float = 0

    init(_ id: String, _ night: CalendarDate?) {
      self.id = id
      self.night = night
    }

    func encode(to fields: inout FieldEncoder) {
      night.encodeField(to: &fields)
      weight.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      night = try CalendarDate?(fromField: &fields)
      weight = try Float(fromField: &fields)
    }
  }

  @Test("Days are compared, sorted, and found in ranges; other text shows as no day")
  func queries() throws {
    let days = try ["2026-03-09", "2025-12-31", "2026-03-10"].map { try day($0) }
    let store = try LocalStore(inMemory: StoreSchema(Stay.self))
    try store.write { transaction in
      for (index, day) in days.enumerated() { try transaction.insert(Stay("\(index)", day)) }
      try transaction.insert(Stay("3", nil))
      try transaction.insert(AnyRecord("Stay", id: "4", ["night": "soon"]))
    }
    func ids(_ query: RecordQuery<Stay>) throws -> [String] { try store.fetch(query).map(\.id) }
    let range = days[1]...days[0]
    #expect(try ids(Stay.where { $0.night == days[0] }) == ["0"])
    #expect(try ids(Stay.where { $0.night < days[2] }) == ["0", "1"])
    #expect(try ids(Stay.where { range.contains($0.night) }.order(by: \.night)) == ["1", "0"])
    #expect(try ids(Stay.where { $0.night == nil }) == ["3"])
    #expect(try store.read { try $0.fetch(Stay.all.minimum(\.night)) } == days[1])
    #expect(try store.fetch(Stay.self, id: "4")?.night == nil)
    #expect(try store.record(RecordID(type: "Stay", id: "4"))?["night"] == "soon")
  }
}
