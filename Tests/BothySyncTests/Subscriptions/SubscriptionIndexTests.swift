import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

@Suite("The index over conditions of subscriptions", .timeLimit(.minutes(10)))
struct SubscriptionIndexTests {
  /// Subscriptions in an index and the records that they are about.
  private struct Followed {
    var world: FollowedWorld
    var records = SubscriptionEvaluator()
    var index = SubscriptionIndex<Int>()
    var subscriptions: [Int: (subscription: CheckedSubscription, place: Coordinate?)] = [:]
    var now: Int64 = 0

    init(seed: UInt64) { world = FollowedWorld(seed: seed) }

    mutating func follow(_ key: Int) throws {
      let subscription = try world.subscription()
      let place = world.random.chance(0.8) ? world.coordinate() : nil
      subscriptions[key] = (subscription, place)
      index.add(subscription, links: records.values(of: subscription), place: place, as: key)
    }

    func belonging(_ key: Int) -> Set<RecordID> {
      guard let (subscription, place) = subscriptions[key] else { return [] }
      return records.evaluate(subscription, at: Standpoint(now: now, place: place)).all
    }

    /// The records that refer to one by fields that any subscription includes.
    func referrers(to id: RecordID) -> [AnyRecord] {
      let fields = index.includingFields(of: id.type)
      return records.all.filter { record in
        fields.contains { $0.type == record.type && record[$0.field].linked.contains(.text(id.id)) }
      }
    }

    /// Changes a record and returns it before and after.
    mutating func change() -> SubscriptionChange {
      let new = world.record()
      let before = records[new.recordID]
      guard world.random.chance(0.75) else {
        records.remove(new.recordID)
        return SubscriptionChange(before: before, after: nil)
      }
      var after = new
      // Often one field changes, and the others stay.
      let name = new.fields.keys.sorted().randomElement(using: &world.random)
      if var changed = before, let name, world.random.chance(0.5) {
        changed[name] = new[name]
        after = changed
      }
      records.set(after)
      return SubscriptionChange(before: before, after: after)
    }

    /// Reads the links of subscriptions, as a server does after a change.
    mutating func relink(_ keys: Set<Int>) {
      for key in keys {
        guard let found = subscriptions[key] else { continue }
        index.relink(key, links: records.values(of: found.subscription))
      }
    }
  }

  @Test("A change concerns each subscription whose records it changes", arguments: 0..<10 as Range<UInt64>)
  func complete(seed: UInt64) throws {
    var followed = Followed(seed: seed)
    for _ in 0..<40 { followed.records.set(followed.world.record()) }
    for key in 0..<40 { try followed.follow(key) }
    var concerned = 0
    for step in 0..<60 {
      followed.now += Int64.random(in: 0...2, using: &followed.world.random) * FollowedWorld.day / 2
      let keys = followed.subscriptions.keys.sorted()
      let before = keys.map { followed.belonging($0) }
      let links = keys.map { followed.subscriptions[$0].map { followed.records.values(of: $0.subscription) } }
      let change = followed.change()
      let id = change.id ?? RecordID(type: "Hut", id: "missing")
      let found = followed.index.concerned(
        by: change, at: followed.now, referrers: followed.referrers(to: id))
      for (place, key) in keys.enumerated() {
        let after = followed.belonging(key)
        let text = followed.subscriptions[key]?.subscription.subscription.text ?? ""
        if before[place] != after || after.contains(id) {
          concerned += 1
          #expect(found.all.contains(key), "seed \(seed), step \(step), \(id): \(text)")
        }
        let values = followed.subscriptions[key].map { followed.records.values(of: $0.subscription) }
        if links[place] != values {
          #expect(found.linked.contains(key), "seed \(seed), step \(step), \(id): links of \(text)")
        }
      }
      followed.relink(found.linked)
      try disturb(&followed)
    }
    #expect(concerned > 40, "seed \(seed)")
    for key in followed.subscriptions.keys { followed.index.remove(key) }
    #expect(followed.index.count == 0)
    for record in followed.records.all {
      let found = followed.index.concerned(by: SubscriptionChange(before: record, after: nil), at: 0)
      #expect(found.all.isEmpty && found.examined == 0)
      #expect(followed.index.includingFields(of: record.type).isEmpty)
    }
  }

  /// Moves a device, replaces a subscription, or ends one.
  private func disturb(_ followed: inout Followed) throws {
    let key = Int.random(in: 0..<40, using: &followed.world.random)
    switch Int.random(in: 0..<6, using: &followed.world.random) {
    case 0: try followed.follow(key)
    case 1:
      followed.subscriptions[key] = nil
      followed.index.remove(key)
    case 2:
      let place = followed.world.coordinate()
      followed.subscriptions[key]?.place = place
      followed.index.move(key, to: place)
    default: break
    }
  }

  @Test("A change that no subscription is about concerns none")
  func unconcerned() throws {
    let schema = FollowedWorld.schema
    var index = SubscriptionIndex<String>()
    let ann = Subscription.Link(
      "hut", isIn: "hut", of: "Member", where: .compare(field: "person", .equal, "ann"))
    index.add(
      try Subscription("Visit", through: [ann], including: ["photos"]).checked(in: schema),
      links: [LinkValues([FieldValue.text("h1")])], as: "ann")
    index.add(
      try Subscription("Hut", place: Subscription.Circle("position", metres: 1000)).checked(in: schema),
      as: "nowhere")
    func concern(_ before: AnyRecord?, _ after: AnyRecord?) -> SubscriptionIndex<String>.Concern {
      index.concerned(by: SubscriptionChange(before: before, after: after), at: 0)
    }
    let other = AnyRecord("Visit", id: "v", ["hut": "h2"])
    #expect(concern(nil, other).all.isEmpty)
    #expect(concern(other, AnyRecord("Visit", id: "v", ["hut": "h1"])).keys == ["ann"])
    #expect(concern(AnyRecord("Visit", id: "v", ["hut": "h1"]), nil).keys == ["ann"])
    // A membership counts if it links something else than before.
    let member = AnyRecord("Member", id: "m", ["person": "ann", "hut": "h1", "role": "guide"])
    #expect(concern(nil, member).linked == ["ann"])
    #expect(concern(member, AnyRecord("Member", id: "m", ["person": "ann", "hut": "h1"])).all.isEmpty)
    #expect(concern(member, AnyRecord("Member", id: "m", ["person": "bob", "hut": "h1"])).linked == ["ann"])
    #expect(concern(nil, AnyRecord("Member", id: "n", ["person": "bob", "hut": "h1"])).all.isEmpty)
    // Without a place no hut is near.
    let hut = AnyRecord("Hut", id: "h", ["position": .coordinate(Coordinate(latitude: 1, longitude: 1))])
    #expect(concern(nil, hut).all.isEmpty)
    index.move("nowhere", to: Coordinate(latitude: 1, longitude: 1))
    #expect(concern(nil, hut).keys == ["nowhere"])
    // A photo concerns those whose records refer to it.
    #expect(index.includingFields(of: "Photo").map { [$0.type, $0.field] } == [["Visit", "photos"]])
    let visit = AnyRecord("Visit", id: "v", ["hut": "h1", "photos": .list(["p"])])
    let photo = SubscriptionChange(before: nil, after: AnyRecord("Photo", id: "p"))
    #expect(index.concerned(by: photo, at: 0, referrers: [visit]).keys == ["ann"])
    #expect(index.concerned(by: photo, at: 0, referrers: [other]).keys.isEmpty)
  }

  @Test("Windows move with time, without a change of the index")
  func time() throws {
    var index = SubscriptionIndex<Int>()
    let day = FollowedWorld.day
    for number in 0..<100 {
      let windows = [
        Subscription.Window("start", .greaterOrEqual, than: Int64(number) * day),
        Subscription.Window("start", .less, than: Int64(number + 1) * day),
      ]
      index.add(
        try Subscription("Visit", windows: windows).checked(in: FollowedWorld.schema), as: number)
    }
    let visit = SubscriptionChange(
      before: nil, after: AnyRecord("Visit", id: "v", ["start": .date(50 * day)]))
    for hour in stride(from: 0, through: 60 * 24, by: 7) {
      let now = Int64(hour) * 3_600_000
      let left = 50 * day - now
      let found = index.concerned(by: visit, at: now)
      let expected: Set<Int> = left < 0 ? [] : [Int(left / day)]
      #expect(found.keys == expected, "hour \(hour)")
      #expect(found.examined < 60)
    }
  }
}
