import BothyGeo
import BothyTesting
import Testing

@Suite("Merging of byte ranges", .timeLimit(.minutes(5)))
struct RangePlanTests {
  @Test("Near ranges are one read, and distant ones several")
  func near() {
    let plan = RangePlan(gap: 10, most: 100)
    #expect(plan.merged([0..<10, 20..<30, 41..<50]) == [0..<30, 41..<50])
    #expect(plan.merged([50..<60, 0..<55]) == [0..<60])
    #expect(plan.merged([0..<60, 60..<120]) == [0..<60, 60..<120], "more than the most")
    #expect(plan.merged([0..<500, 100..<200]) == [0..<500], "one range alone may have more")
    #expect(plan.merged([5..<5]).isEmpty)
  }

  @Test("Every range is whole in a group, and no group has more than needed", arguments: 1...200)
  func properties(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let plan = RangePlan(
      gap: .random(in: 0...50, using: &generator), most: .random(in: 1...400, using: &generator))
    let ranges = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
      let start = UInt64.random(in: 0...2000, using: &generator)
      return start..<start + UInt64.random(in: 0...120, using: &generator)
    }
    let groups = plan.merged(ranges)
    for range in ranges where !range.isEmpty {
      let group = RangePlan.group(of: range, in: groups)
      #expect(group.map { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound } == true)
    }
    for group in groups {
      let members = ranges.filter {
        !$0.isEmpty && $0.lowerBound >= group.lowerBound && $0.upperBound <= group.upperBound
      }
      #expect(members.map(\.lowerBound).min() == group.lowerBound)
      #expect(members.map(\.upperBound).max() == group.upperBound)
      #expect(UInt64(group.count) <= plan.most || members.contains(group))
    }
    #expect(groups.map(\.lowerBound) == groups.map(\.lowerBound).sorted())
    #expect(plan.merged(ranges.shuffled(using: &generator)) == groups, "the order doesn't matter")
  }
}
