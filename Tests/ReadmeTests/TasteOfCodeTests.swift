import Bothy
import BothySyncService
import BothyTesting
import Foundation
import Testing

// README: begin
@Entity struct Todo {
  var title: String
  var done = false
  @Indexed var due: Date?
  @Merge(.counter) var views = 0
}
// README: end

@Suite("The README's code", .timeLimit(.minutes(5)))
struct TasteOfCodeTests {
  @Test("The code does what the README says")
  func runs() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "bothy-readme-\(UUIDv7.make())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // a folder left behind harms nothing
    let path = folder.appendingPathComponent("todo.bothy").path
    let service = SyncService(storage: try SQLiteServerStorage(), now: VirtualTime().reader())
    let remote = InProcessRemote(service)

    // README: begin
    let store = try SyncedStore(at: path, schema: [Todo.self], remote: remote)

    let receipt = try await store.save(Todo(title: "Oil the lamp"))  // durable here, sent when it can be
    let open = try await store.fetch(Todo.where { !$0.done }.order(by: \.due))

    let report = await store.sync()  // or `await store.run()`, which does so by itself
    print(open.map(\.title), receipt.state.name, report.pushed)  // ["Oil the lamp"] pending 1
    // README: end

    #expect(open.map(\.title) == ["Oil the lamp"])
    #expect(receipt.known == .pending)
    #expect(report.pushed == 1)
    #expect(try await service.digest(space: "test", user: Caller("tester"), .everything).count == 1)
  }

  @Test("The README's code is the code of this file")
  func isThisFile() throws {
    let compiled = try PublishedCode.compiled(in: #filePath, marker: "README")
    let published = try PublishedCode.published(in: "README.md", near: #filePath)
    #expect(!published.isEmpty)
    #expect(published == compiled)
  }
}

/// `SettingsContainer(appGroup:)` in an app.
private let home = SettingsContainer.inMemory()

// README: begin
@SettingsGroup(in: home) struct Reading { var fontSize = 17 }
// README: end

@Suite("The README's settings", .timeLimit(.minutes(5)))
struct TasteOfSettingsTests {
  /// Promises: K-1, K-7
  @Test("The settings have the values that the README says") func runs() throws {
    #expect(Reading.current.fontSize == 17)
    // README: begin
    try Reading.update { $0.fontSize = 19 }  // your `willUpdate` may refuse it; other processes hear of it
    print(Reading.current.fontSize)  // a lock and a copy, no I/O
    // README: end
    #expect(Reading.current.fontSize == 19)
    #expect(try Reading.settings.load().fontSize == 19)
  }
}

// README: begin
@Entity struct Trip {
  var name: String
  @Indexed var start: Coordinate?
}
// README: end

@Suite("The README's code for places", .timeLimit(.minutes(5)))
struct TasteOfPlacesTests {
  @Test("The queries find nearby records")
  func runs() throws {
    let here = Coordinate(latitude: 51.5, longitude: -0.1)
    // README: begin
    let around = Trip.where { $0.start.isWithin(metres: 500, of: here) }
    let nearest = Trip.where { $0.name != "Home" }.nearest(to: here, by: \.start).limit(20)
    // README: end

    let store = try LocalStore(inMemory: StoreSchema(Trip.self))
    try store.write { transaction in
      for (name, longitude) in [("Home", -0.1), ("Tower", -0.104), ("Sea", 1.4)] {
        try transaction.insert(Trip(name: name, start: Coordinate(latitude: 51.5, longitude: longitude)))
      }
      try transaction.insert(Trip(name: "Anywhere"))
    }
    #expect(try Set(store.fetch(around).map(\.name)) == ["Home", "Tower"])
    #expect(try store.fetch(nearest).map(\.name) == ["Tower", "Sea"])
  }
}
