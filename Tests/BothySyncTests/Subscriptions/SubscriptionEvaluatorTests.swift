import BothyStore
import BothySync
import BothyTestSupport
import Testing

@Suite("Records that belong to subscriptions", .timeLimit(.minutes(5)))
struct SubscriptionEvaluatorTests {
  private static let day = FollowedWorld.day
  private let schema = FollowedWorld.schema
  private let here = Coordinate(latitude: 60, longitude: 10)

  private func checked(_ subscription: Subscription) throws -> CheckedSubscription {
    try subscription.checked(in: schema)
  }

  private func names(_ ids: Set<RecordID>) -> [String] { ids.map(\.id).sorted() }

  @Test("Visits of the huts of a member come with their photos")
  func membership() throws {
    let visits = try checked(
      Subscription(
        "Visit", where: .compare(field: "beds", .greater, .int(0)),
        through: [
          Subscription.Link(
            "hut", isIn: "hut", of: "Member", where: .compare(field: "person", .equal, "ann"))
        ],
        including: ["photos"]))
    var world = SubscriptionEvaluator([
      AnyRecord("Member", id: "m1", ["person": "ann", "hut": "h1"]),
      AnyRecord("Member", id: "m2", ["person": "bob", "hut": "h2"]),
      AnyRecord("Member", id: "m3", ["person": "ann"]),
      AnyRecord("Visit", id: "v1", ["hut": "h1", "beds": 2, "photos": .list(["p1", "gone"])]),
      AnyRecord("Visit", id: "v2", ["hut": "h2", "beds": 2, "photos": .list(["p2"])]),
      AnyRecord("Visit", id: "v3", ["hut": "h1", "beds": 0, "photos": .list(["p3"])]),
      // Without a hut it is linked with nothing, not with the member that has none.
      AnyRecord("Visit", id: "v4", ["beds": 2]),
      AnyRecord("Photo", id: "p1"), AnyRecord("Photo", id: "p2"), AnyRecord("Photo", id: "p3"),
    ])
    let now = Standpoint(now: 0)
    #expect(names(world.evaluate(visits, at: now).members) == ["v1"])
    #expect(names(world.evaluate(visits, at: now).included) == ["p1"])
    // The membership ends, or can't be seen any longer.
    world.remove(RecordID(type: "Member", id: "m1"))
    #expect(world.evaluate(visits, at: now).all.isEmpty)
    world.set(AnyRecord("Member", id: "m2", ["person": "ann", "hut": "h2"]))
    #expect(names(world.evaluate(visits, at: now).all) == ["p2", "v2"])
    #expect(world.values(of: visits) == [LinkValues([FieldValue.text("h2")])])
  }

  @Test("Lists of references link by each element, on both sides")
  func lists() throws {
    let huts = try checked(
      Subscription("Hut", through: [Subscription.Link("id", isIn: "huts", of: "Member")]))
    let members = try checked(
      Subscription(
        "Member",
        through: [
          Subscription.Link("huts", isIn: "id", of: "Hut", where: .compare(field: "open", .equal, true))
        ]))
    let world = SubscriptionEvaluator([
      AnyRecord("Member", id: "m1", ["huts": .list(["h1", "h2"])]),
      AnyRecord("Member", id: "m2", ["huts": .list(["h4"])]), AnyRecord("Member", id: "m3"),
      AnyRecord("Hut", id: "h1", ["open": true]), AnyRecord("Hut", id: "h2", ["open": false]),
      AnyRecord("Hut", id: "h3", ["open": true]),
    ])
    #expect(names(world.evaluate(huts, at: Standpoint(now: 0)).members) == ["h1", "h2"])
    #expect(names(world.evaluate(members, at: Standpoint(now: 0)).members) == ["m1"])
  }

  @Test("A window of time moves by itself, and its edges are exact")
  func time() throws {
    let week = try checked(
      Subscription(
        "Visit",
        windows: [
          Subscription.Window("start", .greater, than: -7 * Self.day),
          Subscription.Window("start", .lessOrEqual, than: Self.day),
        ]))
    let starts = [-7 * Self.day, -7 * Self.day + 1, 0, Self.day, Self.day + 1]
    let dated = starts.enumerated().map { number, start in
      AnyRecord("Visit", id: "v\(number)", ["start": .date(start)])
    }
    let world = SubscriptionEvaluator(dated + [AnyRecord("Visit", id: "undated")])
    #expect(names(world.evaluate(week, at: Standpoint(now: 0)).members) == ["v1", "v2", "v3"])
    #expect(names(world.evaluate(week, at: Standpoint(now: 1)).members) == ["v2", "v3", "v4"])
    #expect(names(world.evaluate(week, at: Standpoint(now: 7 * Self.day)).members) == ["v3", "v4"])
    #expect(world.evaluate(week, at: Standpoint(now: .max)).members.isEmpty)
    #expect(world.evaluate(week, at: Standpoint(now: .min)).members.isEmpty)
  }

  @Test("A circle moves with the device, also across the antimeridian and at a pole")
  func place() throws {
    let near = try checked(Subscription("Hut", place: Subscription.Circle("position", metres: 20_000)))
    func hut(_ id: String, _ latitude: Double, _ longitude: Double) -> AnyRecord {
      AnyRecord(
        "Hut", id: id, ["position": .coordinate(Coordinate(latitude: latitude, longitude: longitude))])
    }
    let world = SubscriptionEvaluator([
      hut("near", 60.1, 10), hut("far", 60.3, 10), hut("west", 0, -179.95), hut("pole", 89.9, 77),
      AnyRecord("Hut", id: "nowhere"),
    ])
    func found(_ place: Coordinate?) -> [String] {
      names(world.evaluate(near, at: Standpoint(now: 0, place: place)).members)
    }
    #expect(found(here) == ["near"])
    #expect(found(Coordinate(latitude: 60.2, longitude: 10)) == ["far", "near"])
    #expect(found(Coordinate(latitude: 0, longitude: 179.95)) == ["west"])
    #expect(found(Coordinate(latitude: 90, longitude: 0)) == ["pole"])
    #expect(found(nil).isEmpty)
    #expect(found(Coordinate(latitude: 91, longitude: 0)).isEmpty)
  }

  @Test("A container has the records of all types, also of unknown ones")
  func container() throws {
    let world = SubscriptionEvaluator([
      AnyRecord("Visit", id: "v1", container: "trips"), AnyRecord("Newer", id: "n1", container: "trips/oslo"),
      AnyRecord("Visit", id: "v2", container: "tripsy"), AnyRecord("Hut", id: "h1"),
    ])
    func found(_ subscription: Subscription) throws -> [String] {
      names(world.evaluate(try checked(subscription), at: Standpoint(now: 0)).members)
    }
    #expect(try found(Subscription(.container("trips"))) == ["n1", "v1"])
    #expect(try found(Subscription(.container("trips", includingChildren: false))) == ["v1"])
    #expect(try found(Subscription(.everything)) == ["h1", "n1", "v1", "v2"])
    #expect(try found(Subscription("Visit", container: "trips", includesChildren: true)) == ["v1"])
    #expect(try found(Subscription("Hut")) == ["h1"])
  }

  @Test("Ten thousand values in a list are one condition")
  func manyValues() throws {
    let ids = (0..<10_000).map { FieldValue.text("h\($0)") }
    let visits = try checked(Subscription("Visit", where: .oneOf(field: "hut", ids)))
    let world = SubscriptionEvaluator([
      AnyRecord("Visit", id: "first", ["hut": "h0"]), AnyRecord("Visit", id: "last", ["hut": "h9999"]),
      AnyRecord("Visit", id: "none", ["hut": "h10000"]),
    ])
    #expect(names(world.evaluate(visits, at: Standpoint(now: 0)).members) == ["first", "last"])
  }

  /// Returns the members by the query that a subscription resolves to.
  private func queried(
    _ subscription: CheckedSubscription, _ world: SubscriptionEvaluator, at standpoint: Standpoint
  ) throws -> Set<RecordID> {
    let values = world.values(of: subscription)
    guard let type = subscription.type, let scheme = schema[type.name] else { return [] }
    let scope = subscription.subscription.scope
    let query = AnyQuery(
      type.name, where: subscription.resolved(at: standpoint, links: values), container: scope?.container,
      includesChildren: scope?.includesChildren ?? false)
    return Set(try query.evaluate(over: Array(world.all), schema: scheme).map(\.recordID))
  }

  @Test("A resolved subscription is a query with equal records", arguments: 0..<100 as Range<UInt64>)
  func resolved(seed: UInt64) throws {
    var world = FollowedWorld(seed: seed)
    let records = SubscriptionEvaluator((0..<60).map { _ in world.record() })
    for _ in 0..<20 {
      let subscription = try world.subscription()
      guard subscription.type != nil else { continue }
      let place = world.random.chance(0.8) ? world.coordinate() : nil
      let standpoint = Standpoint(now: world.random.pick([0, Self.day, 5 * Self.day]), place: place)
      let found = records.evaluate(subscription, at: standpoint)
      #expect(
        try queried(subscription, records, at: standpoint) == found.members,
        "seed \(seed): \(subscription.subscription.text)")
      let targets = found.members.compactMap { records[$0] }.flatMap { subscription.targets(of: $0) }
      #expect(found.included == Set(targets.filter { records[$0] != nil }), "seed \(seed)")
    }
  }
}
