import BothyStore
import Testing

@Suite("Ids", .timeLimit(.minutes(5)))
struct UUIDv7Tests {
  /// Returns one number each time.
  private struct Constant: RandomNumberGenerator {
    var number: UInt64
    func next() -> UInt64 { number }
  }

  private func isAscending(_ ids: [String]) -> Bool { zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 } }

  @Test("Each id sorts after all earlier ones, many within one millisecond")
  func ascending() {
    #expect(isAscending((0..<20_000).map { _ in UUIDv7.make() }))
  }

  @Test("On several threads each id sorts after all earlier ones and is unique")
  func threads() async {
    let lists = await withTaskGroup(of: [String].self) { group in
      for _ in 0..<4 { group.addTask { (0..<5000).map { _ in UUIDv7.make() } } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(lists.allSatisfy(isAscending))
    #expect(Set(lists.joined()).count == 20_000)
  }

  @Test("A clock that is set back keeps the order and counts again later")
  func clockSetBack() {
    let sequence = UUIDv7Sequence()
    var generator = SystemRandomNumberGenerator()
    let times: [Int64] = [1000, 1000, 400, 999, 1000, 1001, 0, 1001]
    let ids = times.map { sequence.next(at: Timestamp(milliseconds: $0), using: &generator) }
    #expect(isAscending(ids))
    #expect(ids.map { $0.prefix(13) } == [1000, 1000, 1000, 1000, 1000, 1001, 1001, 1001].map(time))
  }

  @Test("Exhausted random bits move an id to the next millisecond and keep version 7")
  func usedUp() {
    let sequence = UUIDv7Sequence()
    var generator = Constant(number: .max)
    let ids = (0..<3).map { _ in sequence.next(at: Timestamp(milliseconds: 5), using: &generator) }
    #expect(isAscending(ids))
    #expect(ids.map { $0.prefix(13) } == [5, 6, 6].map(time))
    for id in ids {
      #expect(id.count == 36)
      #expect(Array(id)[14] == "7" && "89ab".contains(Array(id)[19]))
    }
  }

  /// Returns the first characters of an id of this millisecond.
  private func time(_ milliseconds: Int64) -> Substring {
    var generator = Constant(number: 0)
    return UUIDv7.make(at: Timestamp(milliseconds: milliseconds), using: &generator).prefix(13)
  }
}
