import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("The cost of changes beside many subscriptions", .timeLimit(.minutes(5)))
struct SubscriptionCostTests {
  private static let day = FollowedWorld.day
  private static let huts = 1000

  /// Returns a subscription like that of no other number, and the values of its links.
  private static func subscription(_ number: Int) throws -> (CheckedSubscription, [LinkValues]) {
    let hut = FieldValue.text("h\(number % huts)")
    let subscription: Subscription
    var links: [LinkValues] = []
    switch number % 10 {
    case 0...2:
      subscription = try Subscription(
        "Visit", where: .compare(field: "hut", .equal, hut),
        windows: [Subscription.Window("start", .greater, than: -Int64(number) * day)])
    case 3...5:
      let condition = ConditionTree.compare(field: "person", .equal, .text("p\(number)"))
      subscription = try Subscription(
        "Visit", through: [Subscription.Link("hut", isIn: "hut", of: "Member", where: condition)],
        including: ["photos"])
      links = [LinkValues((0..<20).map { FieldValue.text("h\((number * 7 + $0) % huts)") })]
    case 6, 7:
      subscription = try Subscription("Visit", place: Subscription.Circle("position", metres: Double(number)))
    case 8:
      let price = Double(number)
      subscription = try Subscription(
        "Visit",
        where: .and([
          .compare(field: "price", .greaterOrEqual, .double(price)),
          .compare(field: "price", .less, .double(price + 20)),
        ]))
    default:
      subscription = try Subscription(SyncScope(container: "trips/\(number)", includesChildren: true))
    }
    return (try subscription.checked(in: FollowedWorld.schema), links)
  }

  /// Returns the place of a device, of which each has its own.
  private static func place(_ number: Int) -> Coordinate {
    Coordinate(latitude: Double(number % 97) - 48, longitude: Double(number % 331) - 165)
  }

  private static func index(of count: Int) throws -> SubscriptionIndex<Int> {
    var index = SubscriptionIndex<Int>()
    for number in 0..<count {
      let (subscription, links) = try Self.subscription(number)
      index.add(subscription, links: links, place: place(number), as: number)
    }
    return index
  }

  private static func visit(_ number: Int) -> AnyRecord {
    AnyRecord(
      "Visit", id: "v\(number)",
      [
        "hut": .text("h\(number % huts)"), "start": .date(Int64(number) * day),
        "price": .double(Double(number * 10)), "position": .coordinate(place(number)),
        "photos": .list(["p\(number)"]),
      ], container: "trips/\(number * 10 + 9)/days")
  }

  @Test("A change looks at a bounded number of ten thousand different subscriptions")
  func bounded() throws {
    let index = try Self.index(of: 10_000)
    #expect(index.count == 10_000)
    var (examined, found) = (0, 0)
    for number in 0..<200 {
      let before = Self.visit(number)
      var after = before
      after["price"] = .double(Double(number * 10 + 5))
      let concern = index.concerned(by: SubscriptionChange(before: before, after: after), at: 0)
      // Twice the record's keys, with the ranges around them, and each candidate once.
      #expect(concern.examined < 1000, "visit \(number)")
      examined += concern.examined
      found += concern.keys.count
    }
    #expect(found > 200, "Most visits concern some of the subscriptions.")
    #expect(examined < 200 * 600)
    for number in 0..<200 {
      let member = AnyRecord("Member", id: "m", ["person": .text("p\(number * 10 + 3)"), "hut": "h1"])
      let concern = index.concerned(by: SubscriptionChange(before: nil, after: member), at: 0)
      #expect(concern.linked == [number * 10 + 3])
      #expect(concern.examined < 20)
    }
  }

  @Test("Ten times as many subscriptions to other records cost a change little more")
  func growth() throws {
    var costs: [Int] = []
    for count in [1000, 10_000] {
      let index = try Self.index(of: count)
      costs.append(
        (0..<100).reduce(0) { sum, number in
          let change = SubscriptionChange(before: nil, after: Self.visit(number * 10 + 5))
          let concern = index.concerned(by: change, at: 0)
          // What a change is about is looked at in any case.
          return sum + concern.examined - concern.keys.count
        })
    }
    #expect(costs[1] < 3 * costs[0] + 2000, "\(costs)")
  }

  @Test("A thousand equal subscriptions of different devices are found by one key")
  func equal() throws {
    var index = SubscriptionIndex<Int>()
    let hut = try Subscription("Visit", where: .compare(field: "hut", .equal, "h1"))
      .checked(in: FollowedWorld.schema)
    for device in 0..<1000 { index.add(hut, as: device) }
    let other = index.concerned(
      by: SubscriptionChange(before: nil, after: AnyRecord("Visit", id: "v", ["hut": "h2"])), at: 0)
    #expect(other.keys.isEmpty && other.examined == 1)
    let own = index.concerned(
      by: SubscriptionChange(before: nil, after: AnyRecord("Visit", id: "v", ["hut": "h1"])), at: 0)
    #expect(own.keys.count == 1000)
  }

  @Test("A subscription to either of two fields is found by both")
  func alternatives() throws {
    var index = SubscriptionIndex<Int>()
    for number in 0..<1000 {
      let mine = ConditionTree.or([
        .compare(field: "owner", .equal, .text("u\(number)")),
        .compare(field: "guide", .equal, .text("u\(number)")),
      ])
      index.add(try Subscription("Visit", where: mine).checked(in: FollowedWorld.schema), as: number)
    }
    let visit = AnyRecord("Visit", id: "v", ["guide": "u7"])
    let found = index.concerned(by: SubscriptionChange(before: nil, after: visit), at: 0)
    #expect(found.keys == [7])
    #expect(found.examined < 10)
  }

  @Test("A list of ten thousand values is found by each of them")
  func manyValues() throws {
    var index = SubscriptionIndex<Int>()
    let ids = (0..<10_000).map { FieldValue.text("h\($0)") }
    let huts = try Subscription("Visit", where: .oneOf(field: "hut", ids)).checked(in: FollowedWorld.schema)
    index.add(huts, as: 1)
    for number in [0, 5000, 9999, 10_000] {
      let visit = AnyRecord("Visit", id: "v", ["hut": .text("h\(number)")])
      let found = index.concerned(by: SubscriptionChange(before: visit, after: nil), at: 0)
      let expected: Set<Int> = number < 10_000 ? [1] : []
      #expect(found.keys == expected)
      #expect(found.examined <= 2)
    }
    index.remove(1)
    #expect(index.count == 0)
  }
}
