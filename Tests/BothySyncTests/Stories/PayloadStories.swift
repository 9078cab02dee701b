import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The contents of records: times, defaults, cleared fields, fields that one side doesn't know.
@Suite("The contents of records", .timeLimit(.minutes(5)))
struct PayloadStories {
  private static let everything = StoreSchema(types: [
    TypeSchema(
      "Thing",
      fields: [
        FieldSchema("name", .text), FieldSchema("text", .text, optional: true),
        FieldSchema("when", .date, optional: true), FieldSchema("count", .int, optional: true),
        FieldSchema("size", .double, optional: true), FieldSchema("data", .data, optional: true),
        FieldSchema("at", .coordinate, optional: true), FieldSchema("json", .json, optional: true),
        FieldSchema("mood", .text, default: "calm"), FieldSchema("stars", .int, default: 3),
      ])
  ])

  private static let id = RecordID(type: "Thing", id: "X")

  /// Promises: H-5, S-62
  @Test(
    "Times keep their milliseconds everywhere, before 1970 too, without false conflicts",
    arguments: [1_000_457, -1, -1500, -62_135_596_800_000, 253_402_300_799_999, 1_700_000_000_001])
  func milliseconds(time: Int64) async throws {
    let calls = Calls()
    let pair = try Pair(schema: Self.everything, policy: .counting(calls))
    pair.world.time.advance(by: 457)
    try pair.b.put(AnyRecord("Thing", id: "X", ["name": "x", "when": .date(time)]))
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.record("Thing", "X")?["when"] == .date(time))
    try pair.a.change { _ = try $0.update(Self.id, fields: ["name": "mine"]) }
    try pair.a.restart()
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(pair.a.operations.last?.fields == ["name": "mine"])
    #expect(try await pair.isEven())
    #expect(try pair.b.record("Thing", "X")?["when"] == .date(time))
  }

  /// Promises: H-19
  @Test("An app that knows fewer fields leaves the others unchanged everywhere")
  func projection() async throws {
    let narrow = StoreSchema(types: [TypeSchema("Thing", fields: [FieldSchema("name", .text)])])
    let world = try SimulatedWorld()
    let wide = try world.addDevice("wide", schema: Self.everything)
    try wide.put(AnyRecord("Thing", id: "X", ["name": "x", "text": "kept", "count": 7]))
    await wide.store.sync()
    let device = try world.addDevice("narrow", schema: narrow)
    _ = try await device.store.fetchResult(AnyQuery("Thing"), options: .reading(.remote))
    try await device.store.save(
      AnyRecord("Thing", id: "X", ["name": "y"]), options: .saving(.remoteThenLocal))
    _ = try await device.store.fetchResult(AnyQuery("Thing"), options: .reading(.remote))
    #expect(try device.record("Thing", "X")?.unknownFields?.contains("kept") == true)
    await wide.store.sync()
    let found = try wide.record("Thing", "X")
    #expect(found?["name"] == "y" && found?["text"] == "kept" && found?["count"] == 7)
  }

  /// Promises: X-13, H-66
  @Test(
    "Defaults are set at insert, offline and online, and overwrite nothing later",
    arguments: [WritePolicy.local, .remoteThenLocal])
  func defaults(policy: WritePolicy) async throws {
    let pair = try Pair(schema: Self.everything)
    let options = RequestOptions.saving(policy)
    try await pair.a.store.save(AnyRecord("Thing", id: "X", ["name": "x", "stars": 5]), options: options)
    let report = await pair.a.store.sync()
    if policy == .local { #expect(report.synced.map(\.action) == [.insertedOnServer]) }
    #expect(try await pair.server("X", type: "Thing") == ["name": "x", "mood": "calm", "stars": 5])
    try await pair.a.store.save(AnyRecord("Thing", id: "X", ["mood": "wild"]), options: options)
    try await pair.a.store.save(AnyRecord("Thing", id: "X", ["name": "y"]), options: options)
    #expect(try await pair.isEven())
    #expect(try await pair.server("X", type: "Thing") == ["name": "y", "mood": "wild", "stars": 5])
    #expect(try pair.b.record("Thing", "X")?["mood"] == "wild")
  }

  /// Promises: X-14, H-62
  @Test("A field of any kind that is cleared is cleared everywhere")
  func cleared() async throws {
    let values: [String: FieldValue] = [
      "text": "t", "when": .date(-5), "count": 7, "size": .double(1.5), "data": .data(Data([0, 255])),
      "at": .coordinate(Coordinate(latitude: 59.9, longitude: 10.7)), "json": .json("{\"a\":[1]}"),
    ]
    let pair = try Pair(schema: Self.everything)
    try pair.a.put(AnyRecord("Thing", id: "X", values.merging(["name": "x"]) { $1 }))
    #expect(try await pair.isEven())
    #expect(try pair.b.record("Thing", "X")?["json"] == .json("{\"a\":[1]}"))
    for (name, online) in zip(values.keys.sorted(), [true, false, true, false, true, false, true]) {
      let change = AnyRecord("Thing", id: "X", [name: .null])
      try await pair.a.store.save(
        AnyRecord("Thing", id: "X", change.fields), options: .saving(online ? .remoteThenLocal : .local))
      await pair.a.store.sync()
      #expect(pair.a.operations.last?.fields == [name: .null])
    }
    #expect(try await pair.isEven())
    #expect(try await pair.server("X", type: "Thing") == ["name": "x", "mood": "calm", "stars": 3])
    #expect(try pair.b.record("Thing", "X")?.fields.count == 3)
  }

  /// Promises: S-87
  @Test("All read and write policies work together and end in agreement")
  func combinations() async throws {
    for fetch in ReadPolicy.allCases {
      for save in WritePolicy.allCases where save != .draft {
        let pair = try await Pair.sharing(["T1"]) {
          $0.readPolicy = fetch
          $0.writePolicy = save
        }
        for (step, network) in ["on", "off", "lost answers", "on"].enumerated() {
          pair.a.remote.isOffline = network == "off"
          pair.a.remote.setScript { network == "lost answers" ? .lostAnswer : .none }
          let needsNetwork = network != "on"
          do { try await pair.a.store.save(Note(id: "N\(step)", network)) } catch let error as BothyError {
            #expect(needsNetwork && save == .remote && error.code == .unreachable)
          }
          do { _ = try await pair.a.store.fetchResult(RecordQuery<Note>()) } catch let error as BothyError {
            #expect(needsNetwork && fetch == .remote && error.code == .unreachable)
          }
        }
        #expect(try await pair.isEven(), "\(fetch) \(save)")
        #expect(try await pair.server("N0") != nil)
        #expect(try await pair.server("N3") != nil)
      }
    }
  }
}
