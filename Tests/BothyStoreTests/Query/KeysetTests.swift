import BothyStore
import Foundation
import Testing

/// Pages that begin after a record, and changes of all records of a query.
@Suite("Pages after a record, and changes by query", .timeLimit(.minutes(5))) struct KeysetTests {
  let store: LocalStore
  static let oslo = Coordinate(latitude: 59.91, longitude: 10.75)

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      for number in 0..<40 {
        let due = number % 3 == 0 ? nil : Date(timeIntervalSince1970: Double(number % 5))
        let place = number % 4 == 0 ? nil : Coordinate(latitude: 60, longitude: Double(number % 7))
        try transaction.insert(
          Errand("e\(number)", "T\(number % 6)", done: number % 2 == 0, due: due, place: place))
      }
    }
  }

  static let orders: [RecordQuery<Errand>] = [
    Errand.all, Errand.order(by: \.title), Errand.order(by: \.title, .descending), Errand.order(by: \.due),
    Errand.order(by: \.due, .descending), Errand.order(by: \.due, .descending).order(by: \.title),
    Errand.order(by: \.done).order(by: \.due, .descending).order(by: \.title, .descending),
    Errand.where { $0.done == true }.order { $0.place.nearest(to: oslo) },
    Errand.where { $0.due != nil }.order { $0.place.farthest(from: oslo) }.order(by: \.due),
    Errand.all.order { _ in SortKey("id", ascending: false) },
  ]

  @Test("Pages after their last records are the whole result, in any order", arguments: 0..<orders.count)
  func pages(order: Int) throws {
    let query = Self.orders[order]
    var found: [Errand] = []
    var page = try store.fetch(query.limit(7))
    while let last = page.last {
      found += page
      page = try store.fetch(query.limit(7, offset: 0).after(last))
    }
    #expect(try store.fetch(query) == found)
  }

  static let searched: [RecordQuery<Errand>] = [
    Errand.order(by: \.title, .descending, natural: true),
    Errand.all.matching("t1 t", bestFirst: true).order(by: \.due),
  ]

  @Test("The page before a record ends ahead of it")
  func before() throws {
    for (number, query) in (Self.orders + Self.searched).enumerated() {
      let whole = try store.fetch(query)
      #expect(!whole.isEmpty)
      for place in stride(from: 0, to: whole.count, by: 3) {
        let ahead = Array(whole[..<place])
        let (all, page) = try store.read { transaction in
          (
            try transaction.fetch(query.before(whole[place])),
            try transaction.fetch(query.limit(4, offset: 2).before(whole[place]))
          )
        }
        #expect(all == ahead, "\(number), \(place)")
        #expect(page == ahead.suffix(4), "\(number), \(place)")
      }
    }
  }

  @Test("An observer of the records before one sees those that come between")
  func observedBefore() async throws {
    let page = try Errand.order(by: \.title).limit(2).before(Errand("e3", "T3"))
    var values = store.values(of: page).makeAsyncIterator()
    #expect(try await values.next()?.map(\.id) == ["e21", "e27"])
    try await store.write { try $0.insert(Errand("e2a", "T3")) }
    #expect(try await values.next()?.map(\.id) == ["e27", "e2a"])
  }

  @Test("A page begins at its place in the index, also descending")
  func plan() throws {
    let record = Errand("e3", "T3")
    let up = try Errand.order(by: \.title).limit(9).after(record).recordQuery
    let down = try Errand.order(by: \.title, .descending).limit(9, offset: 3).after(record).recordQuery
    let plans = try [store.plan(up), store.plan(down)]
    #expect(plans[0].contains("(title>?)") && plans[1].contains("(title<?)"), "\(plans)")
    #expect(down.limit == 9 && down.offset == 0)
  }

  @Test("A sort by what a record doesn't have refuses pages after it")
  func metadata() {
    expect(.invalidQuery) {
      _ = try Errand.all.order { _ in SortKey("created") }.after(Errand("e1", "T1"))
    }
    expect(.invalidQuery) {
      _ = try Errand.all.order { _ in SortKey("created") }.before(Errand("e1", "T1"))
    }
    expect(.invalidQuery) { _ = try Errand.all.inAnyOrder().after(Errand("e1", "T1")) }
    expect(.invalidQuery) { _ = try Errand.all.inAnyOrder().before(Errand("e1", "T1")) }
  }

  @Test("Pages go on by the times of a record, which are given", arguments: [true, false])
  func times(ascending: Bool) throws {
    try store.tamper("UPDATE Errand SET _modified = nullif(rowid % 7, 3) * 1000, _created = rowid % 2")
    for names in [["modified"], ["created", "modified"]] {
      let query = names.reduce(Errand.all) { query, name in
        query.order { _ in SortKey(name, ascending: ascending) }
      }
      let whole = try store.fetch(query)
      for (place, errand) in whole.enumerated() {
        let known = try #require(try store.metadata(of: RecordID(errand)))
        let metadata = (known.created, known.modified, known.owner)
        #expect(try store.fetch(query.after(errand, metadata: metadata)) == Array(whole[(place + 1)...]))
        let ahead = try query.limit(3).before(errand, metadata: metadata)
        #expect(try store.read { try $0.fetch(ahead) } == whole[..<place].suffix(3))
      }
    }
    let known: (Date?, Date?, String?) = (nil, nil, nil)
    expect(.invalidQuery) {
      _ = try Errand.all.order { _ in SortKey("container") }.after(Errand("e1", "T1"), metadata: known)
    }
  }

  @Test("Pages of a query in any order have each record once")
  func anyOrder() async throws {
    var found: [String] = []
    for try await errand in store.records(Errand.all.inAnyOrder(), pageSize: 7) { found.append(errand.id) }
    #expect(found.count == 40 && Set(found).count == 40)
  }

  @Test("An update by query changes its records once, also if they leave it")
  func update() throws {
    let query = Errand.where { $0.title == "T1" || $0.title == "T2" }.order(by: \.title).limit(9)
    let before = try store.fetch(query).map(\.id)
    let count = try store.write { transaction in
      try transaction.update(query) { $0.title = $0.title == "T1" ? "T2" : "T1" }
    }
    let titles = try before.compactMap { try store.fetch(Errand.self, id: $0)?.title }
    #expect(count == 9)
    #expect(titles == Array(repeating: "T2", count: 7) + ["T1", "T1"])
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try store.write { transaction in
        try transaction.update(Errand.all) { errand in
          if errand.id == "e5" { throw Refusal() }
          errand.title = "lost"
        }
      }
    }
    #expect(try store.count(Errand.where { $0.title == "lost" }) == 0)
  }
}
