import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Counters of records that a device returns to a server which has them too.
@Suite("Counts given back", .timeLimit(.minutes(5)))
struct GivenBackCountsTests {
  private typealias Place = GivingBackTests.Place

  enum Number: CaseIterable {
    case int, double, decimal

    var schema: StoreSchema {
      let field: FieldSchema =
        switch self {
        case .int: .field("total", Int.self, default: 0, merge: .counter)
        case .double: .field("total", Double.self, default: 0, merge: .counter)
        case .decimal: .field("total", Decimal.self, default: 0, merge: .counter)
        }
      return StoreSchema(types: [TypeSchema("Memo", fields: [FieldSchema("title", .text), field])])
    }

    func value(_ number: Int) -> FieldValue {
      switch self {
      case .int: .int(Int64(number))
      case .double: .double(Double(number) + 0.5)
      case .decimal: FieldValue(Decimal(number))
      }
    }
  }

  private func device(_ name: String, _ number: Number, in place: Place) throws -> SyncedStore {
    try SyncedStore(
      at: place.folder.path + "/\(name).sqlite", schema: number.schema, remote: place.remote,
      configuration: .quiet)
  }

  private func insert(_ store: SyncedStore, _ total: FieldValue) throws {
    let memo = AnyRecord("Memo", id: "1", ["title": .text("one"), "total": total])
    try store.store.write { try $0.insert(memo) }
  }

  @Test("The totals of two servers don't add up", arguments: Number.allCases, [true, false])
  func otherServer(number: Number, isLarger: Bool) async throws {
    let place = try Place()
    let a = try device("a", number, in: place)
    try insert(a, number.value(isLarger ? 5 : 4))
    #expect(await a.sync().obstacle == nil)
    try place.replace()
    let there = try device("there", number, in: place)
    try insert(there, number.value(isLarger ? 4 : 5))
    #expect(await there.sync().obstacle == nil)
    #expect(try await a.maintenance.uploadMine().obstacle == nil)
    try await place.expectEven(a, there)
    #expect(try await place.server()["1"]?["total"] == number.value(5).json)
  }

  @Test("The total of a record outside all subscriptions is counted once")
  func unfollowed() async throws {
    let place = try Place()
    let a = try place.device("a", scopes: [SyncScope(container: "book/1", includesChildren: true)])
    var counted = Note(id: "T1", "there")
    counted.score = 5
    let note = counted
    try await a.store.write { try $0.insert(note, in: "book/2") }
    #expect(await a.sync().obstacle == nil)
    let backup = try await place.backup()
    try await a.store.write { try $0.insert(Note(id: "T2", "here"), in: "book/1") }
    #expect(await a.sync().obstacle == nil)
    try await place.restore(backup)
    #expect(await a.sync().stop?.name == "otherServer")
    #expect(try await a.maintenance.uploadMine().obstacle == nil)
    #expect(try await place.titles() == ["T1": "there", "T2": "here"])
    #expect(try await place.server()["T1"]?["score"] == 5)
    #expect(try a.outboxEntries().isEmpty)
  }
}
