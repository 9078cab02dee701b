import Bothy
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Everyday tasks, as a developer who knows other databases writes them, against a real store and a server in this
/// process.
@Suite("Everyday tasks, written as a newcomer writes them", .timeLimit(.minutes(5))) struct FrontDoorTests {
  enum Camp {
    @Entity struct TodoList: Hashable { var name: String }

    @Entity struct Todo: Hashable {
      @FullText var title: String
      var done = false
      var priority = 0
      var effort = 0.0
      var cost: Int?
      @Indexed var due: Date?
      var list: Reference<TodoList>?
    }

    @Entity struct Stop: Hashable {
      @Indexed(natural: true) var name: String
      @Indexed var place: Coordinate?
    }
  }

  typealias Todo = Camp.Todo
  typealias TodoList = Camp.TodoList
  typealias Stop = Camp.Stop

  let store: SyncedStore
  let now = Date(timeIntervalSince1970: 1_700_000_000)

  init() throws {
    let server = InProcessRemote(SyncService(storage: try SQLiteServerStorage(), now: VirtualTime().reader()))
    store = try SyncedStore.inMemory([TodoList.self, Todo.self, Stop.self], remote: server)
  }

  @Test("A schema is an array, and a store opens by file or by name") func opening() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("front-door-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("todos.bothy")
    let here = try SyncedStore(at: file, schema: [TodoList.self, Todo.self], remote: .none)
    try await here.save(Todo(title: "Wax"), policy: .local)
    #expect(await here.sync().obstacle == .unreachable)
    #expect(try await here.fetch(Todo.self, policy: .local).map(\.title) == ["Wax"])
    #expect(FileManager.default.fileExists(atPath: file.path))
    #expect(throws: BothyError.self) { try SyncedStore(named: "a/b", schema: [Todo.self], remote: .none) }
  }

  @Test("One record and several are saved, changed and deleted by the same verbs") func verbs() async throws {
    try await store.save(Todo(title: "Oil the lamp"))
    let receipts = try await store.save([Todo(title: "Rope"), Todo(title: "Stove")])
    #expect(receipts.count == 2 && receipts.allSatisfy { $0.state == .pending(.insert) })
    let rope = try #require(try await store.fetch(Todo.where { $0.title == "Rope" }).first)

    try await store.update(Todo.self, id: rope.id) { $0.done.toggle() }
    try await store.update(rope) { $0.title += "!" }
    var copy = try #require(try await store.fetch(Todo.self, id: rope.id))
    copy.priority = 3
    try await store.save(copy)
    let now = try #require(try await store.fetch(Todo.self, id: rope.id))
    #expect(now.title == "Rope!" && now.done && now.priority == 3)
    copy.priority = 4
    try await store.update(copy)
    #expect(try await store.fetch(Todo.self, id: rope.id)?.priority == 4)

    await #expect(throws: BothyError.self) { try await store.insert(rope) }
    try await store.insert(Todo(id: "new", title: "New"))
    await #expect(throws: BothyError.self) { try await store.update(Todo(id: "none", title: "None")) }
    await #expect(throws: BothyError.self) {
      try await store.update(Todo.self, id: "none") { $0.done = true }
    }

    try await store.delete(rope)
    try await store.delete(Todo.self, id: "new")
    #expect(try await store.delete([rope]) == 0)
    #expect(try await store.delete(Todo.where { $0.title.hasPrefix("O") }) == 1)
    #expect(try await store.count(Todo.self) == 1)
    #expect(try await store.syncCompletely().pushed > 0)
    #expect(try await store.fetchResult(Todo.all, policy: .remote).map(\.title) == ["Stove"])
  }

  @Test("The verbs hold where writes go to the server first") func serverFirst() async throws {
    store.options.writePolicy = .remoteThenLocal
    let receipts = try await store.save([Todo(id: "a", title: "A"), Todo(id: "b", title: "B")])
    #expect(receipts.allSatisfy { $0.state == .synced })
    await #expect(throws: BothyError.self) { try await store.insert(Todo(id: "a", title: "again")) }
    try await store.insert(Todo(id: "c", title: "C"))
    try await store.update(Todo.self, id: "a") { $0.title = "AA" }
    await #expect(throws: BothyError.self) { try await store.update(Todo(id: "none", title: "None")) }
    #expect(try await store.delete(Todo.where { $0.title == "B" }) == 1)
    #expect(try await store.delete([Todo(id: "c", title: "C"), Todo(id: "none", title: "None")]) == 1)
    #expect(try await store.outbox.pending().isEmpty)
    #expect(try await store.fetch(Todo.all, policy: .remote).map(\.title) == ["AA"])
  }

  @Test("Filters and orders read as Swift") func filters() async throws {
    try await store.save([
      Todo(id: "1", title: "a", done: true, priority: 1, due: now.addingTimeInterval(-60)),
      Todo(id: "2", title: "b", priority: 3), Todo(id: "3", title: "xoil", done: true, priority: 2),
    ])
    func ids(_ query: RecordQuery<Todo>) async throws -> [String] {
      try await store.fetch(query, policy: .local).map(\.id)
    }
    #expect(try await ids(Todo.where { !$0.done }.order(by: \.title)) == ["2"])
    #expect(try await ids(Todo.where { $0.done }.order { $0.title }) == ["1", "3"])
    #expect(try await ids(RecordQuery<Todo>().where { $0.done == false }) == ["2"])
    #expect(try await ids(Todo.where { ["a", "b"].contains($0.title) }) == ["1", "2"])
    #expect(try await ids(Todo.where { (2...3).contains($0.priority) && !$0.done }) == ["2"])
    let now = now
    #expect(
      try await ids(
        Todo.where { $0.done && $0.due < now || $0.title.hasPrefix("x") && !($0.priority > 2) }) == [
          "1", "3",
        ])
    #expect(try await ids(Todo.where { $0.due != nil && $0.due < now }.order { $0.due.descending }) == ["1"])
    #expect(try await ids(Todo.where { $0.title.contains("OIL", ignoringCase: true) }) == ["3"])
    #expect(try await ids(Todo.order(by: \.priority, .descending)) == ["2", "3", "1"])
    #expect(try await ids(Todo.where { Condition(true) || !$0.done }).count == 3)
    #expect(try await store.fetch(Todo.where { $0.done }.order(by: \.title).first())?.id == "1")
    #expect(try await store.fetch(Todo.all.matching("xo"), policy: .local).map(\.id) == ["3"])
  }

  @Test("Texts sort as people expect, and a search shows the best and why") func texts() async throws {
    try await store.save(["Hut 10", "hut 9", "\u{C5}re"].map { Stop(id: $0, name: $0) })
    let stops = Stop.order(by: \.name, natural: true)
    #expect(try await store.fetch(stops, policy: .local).map(\.id) == ["\u{C5}re", "hut 9", "Hut 10"])
    let last = try #require(try await store.fetch(stops.limit(2), policy: .local).last)
    #expect(try await store.fetch(stops.after(last), policy: .local).map(\.id) == ["Hut 10"])
    try await store.save([Todo(id: "1", title: "Oiling"), Todo(id: "2", title: "Buy oil for the lamp")])
    let found = Todo.all.matching("oil", in: \.title, bestFirst: true)
    #expect(try await store.fetch(found, policy: .local).map(\.id) == ["2", "1"])
    let shown = try await store.fetch(found.withSnippet(of: \.title, words: 3))
    #expect(shown.map(\.related) == ["Buy **oil** for\u{2026}", "**Oiling**"])
  }

  @Test("Counts, sums and groups are computed by SQLite") func numbers() async throws {
    let list = TodoList(id: "L", name: "Camp")
    try await store.save(list)
    try await store.save([
      Todo(id: "1", title: "a", effort: 1.5, cost: 3, due: now, list: Reference(list)),
      Todo(id: "2", title: "b", effort: 2.5, list: Reference(list)),
      Todo(id: "3", title: "c", done: true, cost: 4),
    ])
    let open: Int = try await store.count(Todo.where { !$0.done })
    let effort: Double = try await store.fetch(Todo.all.sum(\.effort))
    let cost: Int = try await store.fetch(Todo.all.sum(\.cost))
    let last: Date?? = try await store.fetch(Todo.all.maximum(\.due))
    #expect(open == 2 && effort == 4 && cost == 7 && last == now)
    #expect(try await store.fetch(Todo.where { $0.title == "none" }.sum(\.effort)) == 0)
    #expect(try await store.fetch(Todo.where { $0.title == "none" }.average(\.effort)) == nil)
    #expect(try await store.fetch(Todo.all.average(\.cost)) == 3.5)
    #expect(try await store.fetch(Todo.order(by: \.title).limit(2).sum(\.effort)) == 4)
    #expect(try await store.fetch(Todo.order(by: \.title).limit(1, offset: 1).count()) == 1)
    #expect(try await store.fetch(Todo.all.minimum(\.title)) == "a")
    let groups = try await store.fetch(Todo.all.group(by: \.list).count())
    #expect(groups.map(\.key?.id) == [nil, "L"] && groups.map(\.value) == [1, 2])
    let byState = Todo.all.group(by: \.done)
    #expect(try await store.fetch(byState.sum(\.effort)).map(\.value) == [4, 0])
    #expect(try await store.fetch(byState.average(\.cost)).map(\.value) == [3, 4])
    #expect(try await store.fetch(byState.maximum(\.due, having: { $0 != nil })).map(\.value) == [now])
  }

  @Test("Parents come with children, children with parents, and counts with both") func related() async throws
  {
    let lists = [TodoList(id: "A", name: "A"), TodoList(id: "B", name: "B")]
    try await store.save(lists)
    try await store.save([
      Todo(id: "1", title: "z", list: Reference(lists[0])),
      Todo(id: "2", title: "y", list: Reference(lists[0])),
      Todo(id: "3", title: "x", done: true, list: Reference(lists[0])), Todo(id: "4", title: "w"),
    ])
    let open = Todo.where { !$0.done }.order(by: \.title)
    let parents = try await store.fetch(TodoList.order(by: \.name).with(open, by: \.list))
    #expect(parents.map { $0.related.map(\.id) } == [["2", "1"], []] && parents.map(\.name) == ["A", "B"])
    let first = try await store.fetch(TodoList.order(by: \.name).with(open.limit(1), by: \.list))
    #expect(first.map { $0.related.map(\.id) } == [["2"], []])
    let children = try await store.fetch(Todo.order(by: \.id).with(\.list))
    #expect(children.map { $0.related?.name } == ["A", "A", "A", nil])
    let counts = try await store.fetch(TodoList.order(by: \.name).withCount(of: Todo.all, by: \.list))
    #expect(counts.map(\.related) == [3, 0])
  }

  @Test("Children are fetched for any number of parents") func manyParents() async throws {
    let lists = (0..<10_001).map { TodoList(id: "\($0)", name: "") }
    try await store.save(lists)
    try await store.save(["0", "9999", "10000"].map { Todo(id: $0, title: "a", list: Reference(id: $0)) })
    let parents = try await store.fetch(TodoList.all.with(Todo.all, by: \.list))
    #expect(parents.count == 10_001)
    #expect(Set(parents.flatMap(\.related).map(\.id)) == ["0", "9999", "10000"])
    let counts = try await store.fetch(TodoList.all.withCount(of: Todo.all, by: \.list))
    #expect(Set(counts.filter { $0.related == 1 }.map(\.id)) == ["0", "9999", "10000"])
  }

  @Test("Places are found by distance, nearest first") func nearby() async throws {
    let here = Coordinate(latitude: 59.91, longitude: 10.75)
    try await store.save([
      Stop(id: "far", name: "far", place: Coordinate(latitude: 60, longitude: 10.75)),
      Stop(id: "near", name: "near", place: Coordinate(latitude: 59.911, longitude: 10.75)),
      Stop(id: "none", name: ""),
    ])
    #expect(
      try await store.fetch(Stop.where { $0.place.isWithin(metres: 500, of: here) }).map(\.id) == ["near"])
    #expect(
      try await store.fetch(Stop.all.nearest(to: here, by: \.place).limit(3)).map(\.id) == ["near", "far"])
  }

  @Test("One transaction reads its own writes, and one snapshot serves several reads") func transactions()
    async throws
  {
    try await store.save([Todo(title: "a"), Todo(title: "b", done: true)])
    let count = try await store.write(.atomic) { tx in
      let list = TodoList(name: "Camp")
      try tx.save(list)
      for todo in try tx.fetch(Todo.where { $0.list == nil }) {
        try tx.update(todo) { $0.list = Reference(list) }
      }
      return try tx.count(Todo.where { $0.list == list })
    }
    #expect(count == 2)
    let (todos, lists) = try await store.read { (try $0.fetch(Todo.self), try $0.fetch(TodoList.self)) }
    #expect(todos.count == 2 && lists.count == 1)
    try await store.write { tx in
      try tx.save([Todo(title: "c")])
      #expect(try tx.delete(Todo.where { $0.done }) == 1)
      #expect(try tx.delete(lists[0]) && tx.exists(Todo.self, id: todos[0].id))
    }
    #expect(try await store.count(Todo.self) == 2)
  }

  @Test("SQL reads with bound values, and never writes") func sql() async throws {
    try await store.save([Todo(title: "it's"), Todo(title: "it's"), Todo(title: "b", done: true, due: now)])
    struct Share: Decodable, Equatable {
      var title: String
      var n: Int
    }
    struct Finished: Decodable, Equatable {
      var done: Bool
      var due: Date?
      var other: Int?
    }
    let (limit, title) = (1, "it's")
    let shares = try await store.sql(
      "SELECT title, count(*) AS n FROM Todo WHERE title = \(title) GROUP BY title HAVING n > \(limit)",
      as: Share.self)
    #expect(shares == [Share(title: "it's", n: 2)])
    let finished = try await store.sql("SELECT done, due FROM Todo WHERE done", as: Finished.self)
    #expect(finished == [Finished(done: true, due: now, other: nil)])
    for bad in ["DELETE FROM Todo", "SELECT 1; SELECT 2", "SELEC", "SELECT * FROM Nothing"] {
      await #expect(throws: BothyError.self, "\(bad)") {
        try await store.sql(SQLText(stringLiteral: bad), as: Int.self)
      }
    }
    #expect(try await store.count(Todo.self) == 3)
  }

  @Test("A coordinate is bound as its latitude and longitude") func sqlCoordinate() async throws {
    let here = Coordinate(latitude: 60, longitude: 10.75)
    try await store.save([
      Stop(id: "here", name: "", place: here),
      Stop(id: "there", name: "", place: Coordinate(latitude: 60, longitude: 11)),
    ])
    let found = try await store.sql(
      "SELECT _id FROM Stop WHERE (place_lat, place_lon) = (\(here)) AND _id <> \("there")", as: String.self)
    #expect(found == ["here"])
  }

  @Test("Requests of every kind are observed, and report only what changed") func observing() async throws {
    let list = TodoList(id: "L", name: "Camp")
    try await store.save(list)
    var open = store.values(of: Todo.where { !$0.done }).makeAsyncIterator()
    var counts = store.values(of: Todo.all.count()).makeAsyncIterator()
    var lists = store.values(of: TodoList.all.withCount(of: Todo.all, by: \.list)).makeAsyncIterator()
    var one = store.values(of: Todo.self, id: "1").makeAsyncIterator()
    #expect(try await open.next()?.isEmpty == true)
    #expect(try await counts.next() == 0)
    #expect(try await lists.next()?.map(\.related) == [0])
    #expect(try await one.next() == .some(nil))
    try await store.save(Todo(id: "1", title: "a", list: Reference(list)))
    #expect(try await open.next()?.map(\.id) == ["1"])
    #expect(try await counts.next() == 1)
    #expect(try await lists.next()?.map(\.related) == [1])
    #expect(try await one.next()??.title == "a")
    try await store.update(Todo.self, id: "1") { $0.title = "b" }
    #expect(try await one.next()??.title == "b")
    try await store.save(Todo(id: "2", title: "c"))
    #expect(try await counts.next() == 2, "the edit of a title changed no count")
  }
}
