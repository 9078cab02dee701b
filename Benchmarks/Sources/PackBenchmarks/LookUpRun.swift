import Bars
import BothyPacks
import BothyStore
import Foundation

/// Single records by id, and the times of a day in a city: split, in one file, and by the bare statement.
struct LookUpRun {
  private let split: Pack
  private let whole: Pack
  private let bare: BareFile
  private let options: Options

  init(_ folder: String, _ options: Options) throws {
    // All shards stay open, because only the look-up is measured.
    let open = Pack.Options(openShards: Year.cities)
    split = try Pack(at: URL(filePath: folder + "/split"), expecting: [PrayerTime.self], options: open)
    whole = try Pack(at: URL(filePath: folder + "/whole"), expecting: [PrayerTime.self], options: open)
    bare = try BareFile(folder + "/whole/index.sqlite")
    self.options = options
  }

  func bars() throws -> [Bar] {
    let times = Year.times
    var generator = SystemRandomNumberGenerator()
    let ids = (0..<options.lookUps).map { _ in times[Int.random(in: 0..<times.count, using: &generator)].id }
    var (splits, wholes, bares): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<options.rounds {
      bares.append(try middle(ids) { bare.fetch($0) })
      wholes.append(try middle(ids) { try whole.fetch(PrayerTime.self, id: $0) })
      splits.append(try middle(ids) { try split.fetch(PrayerTime.self, id: $0) })
    }
    let (days, wholeDays) = (try days(of: split), try days(of: whole))
    let floor = bares.median ?? .infinity
    print("a look-up by the bare statement: p50 \(floor.short) us")
    return [
      Bar(claim: "look-up by id, split, p50", measured: splits.median ?? .infinity, limit: 20, unit: "us"),
      Bar(claim: "look-up by id, one file, p50", measured: wholes.median ?? .infinity, limit: 20, unit: "us"),
      Bar(
        claim: "look-up by id, split, to the bare statement", measured: (splits.median ?? .infinity) / floor,
        limit: 2),
      Bar(
        claim: "look-up by id, one file, to the bare statement",
        measured: (wholes.median ?? .infinity) / floor, limit: 2),
      Bar(
        claim: "look-up by id, one file to split",
        measured: (wholes.median ?? .infinity) / (splits.median ?? 1), limit: 1.5),
      Bar(claim: "the day of a city, one file to split", measured: wholeDays / days, limit: 2),
    ]
  }

  /// Returns the median of the microseconds that each look-up takes.
  private func middle(_ ids: [String], _ fetch: (String) throws -> PrayerTime?) throws -> Double {
    let clock = ContinuousClock()
    var spans: [Double] = []
    spans.reserveCapacity(ids.count)
    for id in ids {
      let start = clock.now
      let found = try fetch(id)
      spans.append(start.duration(to: clock.now) / .microseconds(1))
      guard found?.id == id else { throw BenchmarkError("\(id) was not found") }
    }
    return spans.median ?? .infinity
  }

  /// Returns the median of the microseconds that the six times of one day in one city take.
  private func days(of pack: Pack) throws -> Double {
    var spans: [Double] = []
    for number in 0..<options.lookUps / 10 {
      let (city, day) = ("City \(number % Year.cities)", Year.date(number % Year.days))
      let query = RecordQuery<PrayerTime>().where { $0.city == city && $0.day == day }
      spans.append(
        try seconds {
          guard try pack.fetch(query).count == 6 else { throw BenchmarkError("not six times on \(day)") }
        } * 1e6)
    }
    print(
      "the day of a city: p50 \((spans.median ?? 0).short) us in the pack \(pack.folder.lastPathComponent)")
    return spans.median ?? .infinity
  }
}
