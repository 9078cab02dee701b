import BothySyncService
import BothyTesting
import Testing

/// The decisions of an upkeep, beside those of upkeeps that mark each time and keep all marks.
@Suite("Decisions of an upkeep", .timeLimit(.minutes(5)))
struct MaintenanceTurnTests {
  private static let day = RetentionPolicy.day
  private static let hour = RetentionPolicy.hour

  /// A space with the marks that upkeeps keep, and with all marks.
  private struct Space {
    var time: Int64 = 1_767_225_600_000
    var head: Int64 = 0
    var floor: Int64 = 0
    var marks: [HeadMark] = []
    var allMarks: [HeadMark] = []
    var formerFloor: Int64 = 0

    mutating func turn(_ terms: RetentionPolicy, acknowledged: Int64? = nil) -> UpkeepPlan {
      let state = UpkeepState(head: head, floor: floor, marks: marks, acknowledged: acknowledged)
      let plan = MaintenanceTurn(time: time, terms: terms).plan(for: state)
      if let mark = plan.mark {
        marks.removeAll { $0.at == mark.at }
        marks.append(mark)
      }
      marks.removeAll { mark in plan.dropped.contains { $0.contains(mark.at) } }
      floor = plan.floor ?? floor
      allMarks.removeAll { $0.at == time }
      allMarks.append(HeadMark(at: time, position: head))
      formerFloor = max(formerFloor, former(terms, acknowledged))
      return plan
    }

    /// Returns the floor by all marks, optionally by the times before some milliseconds.
    func former(_ terms: RetentionPolicy, _ acknowledged: Int64?, earlier: Int64 = 0) -> Int64 {
      let old = Self.position(allMarks, time - terms.tombstoneAge - earlier)
      let recent = Self.position(allMarks, time - terms.acknowledgedAge - earlier)
      return max(old, min(recent, acknowledged ?? 0))
    }

    static func position(_ marks: [HeadMark], _ time: Int64) -> Int64 {
      marks.last { $0.at <= time }?.position ?? 0
    }
  }

  @Test(
    "Few marks give no higher floor than all, and a day later at most",
    arguments: 0..<10 as Range<UInt64>)
  func floors(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let terms = RetentionPolicy(
      tombstoneAge: Int64.random(in: 1...90, using: &random) * Self.day,
      acknowledgedAge: Int64.random(in: 0...10, using: &random) * Self.day)
    let limit = Int(terms.tombstoneAge / Self.day) + 26
    var space = Space()
    for step in 0..<1500 {
      space.time += random.chance(3) ? Int64.random(in: 0...9, using: &random) * Self.day : 0
      space.time += Int64.random(in: 0...3 * Self.hour, using: &random)
      if random.chance(70) { space.head += Int64.random(in: 1...20, using: &random) }
      let acknowledged = random.chance(60) ? Int64.random(in: 0...space.head, using: &random) : nil
      _ = space.turn(terms, acknowledged: acknowledged)
      #expect(space.floor <= space.formerFloor, "seed \(seed), step \(step)")
      #expect(
        space.floor >= space.former(terms, acknowledged, earlier: Self.day), "seed \(seed), step \(step)")
      #expect(space.marks.count <= limit, "seed \(seed), step \(step)")
      #expect(space.marks.map(\.at) == space.marks.map(\.at).sorted())
    }
  }

  @Test("A head that stays gets no further mark")
  func unmoved() {
    var space = Space()
    let empty = space.turn(RetentionPolicy())
    #expect(empty.mark == nil && empty.next == nil)
    space.head = 5
    #expect(space.turn(RetentionPolicy()).mark == HeadMark(at: space.time, position: 5))
    for _ in 0..<30 {
      space.time += Self.hour
      #expect(space.turn(RetentionPolicy()).mark == nil)
    }
    #expect(space.marks.count == 1)
  }

  @Test("Terms of years leave a space at rest for 91 days at most")
  func longTerms() throws {
    let long = 3650 * Self.day
    let terms = RetentionPolicy(tombstoneAge: long, outcomeAge: long, interval: long)
    var space = Space()
    space.head = 5
    for interval in [Self.hour, long] {
      var terms = terms
      terms.interval = interval
      space.head += 1
      let plan = space.turn(terms)
      let next = try #require(plan.next)
      #expect(next == space.time + 91 * Self.day)
      #expect(max(next, plan.rest) <= MaintenanceTurn.lastDue(at: space.time - Self.hour))
    }
  }

  @Test("Marks of an hourly past are thinned at once, by few ranges")
  func past() {
    var space = Space()
    space.marks = (1...2400).map {
      HeadMark(at: space.time - 2400 * Self.hour + $0 * Self.hour, position: $0)
    }
    space.head = 2400
    let plan = space.turn(RetentionPolicy())
    #expect(space.marks.count <= 116)
    #expect(plan.dropped.count <= 116)
    #expect(plan.floor == 240)
  }

  @Test(
    "Few turns after the last change raise the floor to the head",
    arguments: 0..<8 as Range<UInt64>)
  func ending(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let terms = RetentionPolicy()
    var space = Space()
    for _ in 0..<500 {
      space.time += Self.hour
      if random.chance(50) { space.head += 1 }
      _ = space.turn(terms)
    }
    let end = space.time
    var plan = space.turn(terms)
    var turns = 0
    while let next = plan.next {
      #expect(next >= space.time + terms.interval)
      space.time = next
      plan = space.turn(terms)
      turns += 1
      try #require(turns < 100, "seed \(seed)")
    }
    #expect(space.floor == space.head)
    #expect(space.time <= end + 90 * Self.day)
    #expect(turns <= 60, "seed \(seed)")
    #expect(space.marks.count == 1)
  }

  @Test("The floor waits for a device without turns until the device is too old")
  func waiting() {
    let time: Int64 = 1_767_225_600_000
    var state = UpkeepState(
      head: 9, floor: 0, marks: [HeadMark(at: time - 20 * Self.day, position: 9)], acknowledged: 4,
      oldestDevice: time - 30 * Self.day)
    let plan = MaintenanceTurn(time: time, terms: RetentionPolicy()).plan(for: state)
    #expect(plan.floor == 4)
    #expect(plan.next == time + 60 * Self.day + 1)
    // Once every device is ahead, the floor follows at the age of the next mark.
    state.marks.append(HeadMark(at: time - Self.day, position: 12))
    (state.head, state.acknowledged, state.floor) = (12, 12, 4)
    let ahead = MaintenanceTurn(time: time, terms: RetentionPolicy()).plan(for: state)
    #expect(ahead.floor == 9)
    #expect(ahead.next == time + 6 * Self.day)
  }
}
