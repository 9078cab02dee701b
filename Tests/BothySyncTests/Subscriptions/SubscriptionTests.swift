import BothyStore
import BothySync
import Foundation
import Testing

@Suite("Descriptions of subscriptions", .timeLimit(.minutes(5)))
struct SubscriptionTests {
  private let schema = FollowedWorld.schema

  @Test("A description has one canonical form and one id")
  func canonical() throws {
    let recent = Subscription.Window("start", .greater, than: -7 * FollowedWorld.day)
    let coming = Subscription.Window("start", .less, than: FollowedWorld.day)
    let link = Subscription.Link(
      "hut", isIn: "hut", of: "Member", where: .compare(field: "person", .equal, "ann"))
    let (cheap, known) = (
      ConditionTree.compare(field: "price", .less, .int(20)),
      ConditionTree.oneOf(field: "guide", ["bob", "ann", "bob"])
    )
    let one = try Subscription(
      "Visit", container: "trips", includesChildren: true, where: .and([cheap, known]), through: [link],
      windows: [recent, coming], place: Subscription.Circle("position", metres: 20_000),
      including: ["photos", "hut"])
    let other = try Subscription(
      "Visit", container: "trips", includesChildren: true,
      where: .and([.and([known, .and([.all])]), cheap, known]), through: [link, link],
      windows: [coming, recent, coming], place: Subscription.Circle("position", metres: 20_000),
      including: ["hut", "photos", "hut"])
    #expect(one == other)
    #expect(one.id == other.id)
    #expect(
      one.text == """
        {"children":true,"container":"trips","include":["hut","photos"],"place":{"field":"position",\
        "metres":20000},"through":[{"equals":"hut","field":"hut","of":"Member","where":{"field":"person",\
        "op":"=","value":"ann"}}],"type":"Visit","where":{"and":[{"field":"guide","op":"in","value":["ann",\
        "bob"]},{"field":"price","op":"<","value":20}]},"windows":[{"field":"start","offset":-604800000,\
        "op":">"},{"field":"start","offset":86400000,"op":"<"}]}
        """)
    #expect(one.id == "8fdc57c32dcd7c90791239b389abeb85")
  }

  @Test("The whole space and a container are subscriptions without a type")
  func containers() throws {
    #expect(try Subscription(.everything).text == #"{"children":true,"container":""}"#)
    let oslo = try Subscription(SyncScope(container: "trips/oslo"))
    #expect(oslo.text == #"{"container":"trips/oslo"}"#)
    #expect(oslo.scope == SyncScope(container: "trips/oslo"))
    // Every container is the default of a type.
    let everywhere = try Subscription("Hut", container: "", includesChildren: true)
    let plain = try Subscription("Hut", includesChildren: true)
    #expect(everywhere == plain)
    #expect(everywhere.scope == nil)
  }

  @Test("A value and its other spellings are one condition")
  func values() throws {
    func id(_ condition: ConditionTree) throws -> String { try Subscription("Visit", where: condition).id }
    #expect(
      try id(.compare(field: "start", .less, .date(5))) == id(.compare(field: "start", .less, .int(5))))
    #expect(
      try id(.compare(field: "price", .less, .double(2))) == id(.compare(field: "price", .less, .int(2))))
    #expect(try id(.oneOf(field: "beds", [.int(2)])) == id(.compare(field: "beds", .equal, .int(2))))
    #expect(try id(.not(.not(.matches("a")))) == id(.matches("a")))
    #expect(try id(.or([.none, .all])) == id(.all))
    #expect(try id(.and([.or([])])) == id(.none))
    // Bytes count, as in every comparison of texts.
    let spellings: [FieldValue] = ["é", "e\u{301}"]
    #expect(
      try id(.compare(field: "guide", .equal, spellings[0]))
        != id(.compare(field: "guide", .equal, spellings[1])))
  }

  @Test("A description survives its document and its encoding", arguments: 0..<200 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var world = FollowedWorld(seed: seed)
    let subscription = try world.subscription().subscription
    let read = try Subscription(decoding: subscription.canonical)
    #expect(read == subscription, "seed \(seed): \(subscription.text)")
    #expect(read.canonical == subscription.canonical)
    #expect(read.id == subscription.id)
    let data = try JSONEncoder().encode([subscription])
    #expect(try JSONDecoder().decode([Subscription].self, from: data) == [subscription])
    _ = try read.checked(in: schema)
  }

  @Test("Ten thousand ids in one list have room, and far more are refused")
  func bounds() throws {
    let ids = (0..<10_000).map { FieldValue.text("0191d7a2-7c1e-7000-8000-0000000\(10_000 + $0)") }
    let wide = try Subscription("Visit", where: .oneOf(field: "hut", ids))
    #expect(wide.canonical.count < Subscription.longest)
    _ = try wide.checked(in: schema)
    let long = (0..<10_000).map { FieldValue.text(String(repeating: "x", count: 60) + "\($0)") }
    #expect(throws: BothyError.self) { try Subscription("Visit", where: .oneOf(field: "guide", long)) }
    let links = (0..<9).map { Subscription.Link("hut", isIn: "hut", of: "Member\($0)") }
    #expect(throws: BothyError.self) { try Subscription("Visit", through: links) }
    let windows = (0..<9).map { Subscription.Window("start", .less, than: Int64($0)) }
    #expect(throws: BothyError.self) { try Subscription("Visit", windows: windows) }
    #expect(throws: BothyError.self) { try Subscription("Visit", including: (0..<17).map { "f\($0)" }) }
  }

  @Test(
    "A document with a part that has no meaning is refused",
    arguments: [
      #"{"type":"Visit","limit":5}"#, #"{"where":{"field":"beds","op":"=","value":1}}"#, "{}", "[]", "{",
      #"{"container":"a","include":["hut"]}"#, #"{"type":""}"#, #"{"type":"Visit","children":1}"#,
      #"{"type":"Visit","windows":[{"field":"start","op":"=","offset":0}]}"#,
      #"{"type":"Visit","windows":[{"field":"start","op":"<","offset":0.5}]}"#,
      #"{"type":"Visit","windows":[{"field":"start","op":"<","offset":9007199254740993}]}"#,
      #"{"type":"Visit","place":{"field":"position","metres":-1}}"#,
      #"{"type":"Visit","through":[{"field":"hut","of":"Member"}]}"#,
      #"{"type":"Visit","through":{"field":"hut","equals":"hut","of":"Member"}}"#,
      #"{"type":"Visit","where":{"permission":"owner = principal.name"}}"#,
      #"{"type":"Visit","where":{"near":{"field":"position","lat":91,"lon":0,"metres":1}}}"#,
    ])
  func refused(text: String) {
    #expect(throws: BothyError.self, "\(text)") { try Subscription(decoding: Array(text.utf8)) }
  }

  @Test("Numbers that JSON lacks, and conditions of permissions, are refused")
  func refusedConditions() {
    let conditions: [ConditionTree] = [
      .compare(field: "price", .less, .double(.nan)), .oneOf(field: "price", [.double(.infinity)]),
      .near(field: "position", centre: Coordinate(latitude: 0, longitude: 0), metres: .nan),
      .not(.inside(field: "position", GeoBox(west: 0, south: 10, east: 0, north: 0))),
      .relates(field: "owner", .compares(.equal), to: OpenValue.name), .exists(type: "Member", .all),
    ]
    for condition in conditions {
      #expect(throws: BothyError.self, "\(condition)") { try Subscription("Visit", where: condition) }
    }
    #expect(throws: BothyError.self) {
      try Subscription("Visit", place: Subscription.Circle("position", metres: .infinity))
    }
  }

  @Test("A subscription that doesn't fit the schema is refused")
  func unfit() throws {
    var schema = self.schema
    schema.types[0].fields.append(FieldSchema("code", .text, optional: true, sensitive: true))
    schema.types.append(TypeSchema("Draft", fields: [], synced: false))
    func window(_ field: String) throws -> Subscription {
      try Subscription("Visit", windows: [Subscription.Window(field, .less, than: 0)])
    }
    func link(_ field: String, _ target: String, _ type: String = "Member") throws -> Subscription {
      try Subscription("Visit", through: [Subscription.Link(field, isIn: target, of: type)])
    }
    let unfit = [
      try Subscription("Nothing"), try Subscription("Draft"), try window("beds"), try window("none"),
      try Subscription("Visit", where: .compare(field: "nothing", .equal, "a")),
      try Subscription("Visit", where: .compare(field: "beds", .equal, "a")),
      try Subscription("Visit", where: .compare(field: "version", .equal, "1")),
      try Subscription("Hut", where: .not(.compare(field: "code", .equal, "a"))),
      try Subscription("Visit", place: Subscription.Circle("start", metres: 1)),
      try Subscription("Visit", including: ["beds"]), try link("hut", "beds"), try link("hut", "none"),
      try link("price", "beds"), try link("tags", "person"), try link("hut", "id", "Nothing"),
      try link("position", "position", "Hut"),
    ]
    for subscription in unfit {
      #expect(throws: BothyError.self, "\(subscription.text)") { try subscription.checked(in: schema) }
    }
    _ = try window("created").checked(in: schema)
    _ = try link("photos", "id", "Photo").checked(in: schema)
  }
}
