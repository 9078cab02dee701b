import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// The number of random commits. `BOTHY_COMMITS` sets it.
private let commits = ProcessInfo.processInfo.environment["BOTHY_COMMITS"].flatMap { Int($0) } ?? 600

/// Observers of requests of every kind, during a random history of commits.
@Suite("Observers and random commits", .timeLimit(.minutes(15 + commits / 400)))
struct ObserverHistoryTests {
  /// The seeds, each with a part of the commits. `BOTHY_SEED` runs one alone. Odd ones have their store in a file.
  static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["BOTHY_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3, 4]

  @Test("An observer fires if and only if a commit changes its answer", arguments: seeds)
  func history(seed: UInt64) async throws {
    var history = BookHistory(seed: seed)
    let folder = try TemporaryFolder()
    let schema = StoreSchema(Book.self, Shelf.self)
    let store =
      try seed.isMultiple(of: 2)
      ? LocalStore(inMemory: schema) : LocalStore(at: folder.database, schema: schema)
    var observed = BookHistory.observed(in: store)
    for index in observed.indices {
      let isRight = await observed[index].arrives()
      try #require(isRight, "seed \(seed): \(observed[index].name), \(observed[index].fired)")
    }
    for number in 1...max(1, commits / Self.seeds.count) {
      let deed = try history.commit(to: store)
      for index in observed.indices {
        guard try observed[index].differs() else { continue }
        let isRight = await observed[index].arrives()
        try #require(
          isRight,
          """
          seed \(seed), commit \(number) (\(deed)): \(observed[index].name)
          fired \(observed[index].fired), is \(observed[index].now). Replay with BOTHY_SEED=\(seed).
          """)
      }
    }
    for observer in observed {
      let idle = await observer.ended()
      #expect(idle.isEmpty, "seed \(seed), \(observer.name) fired at last: \(idle)")
    }
  }
}

/// One observed request: the values that it delivered, and its present answer, as text.
struct ObservedAnswer {
  let name: String
  private let read: () throws -> String
  private var iterator: AsyncStream<String>.Iterator
  private let observer: Task<Void, Never>
  /// The last value that was delivered.
  private(set) var fired = "nothing"
  /// The answer by the last read.
  private(set) var now = ""

  init<Value: Sendable>(
    _ name: String, _ values: LiveValues<Value>, as text: @escaping @Sendable (Value) -> String = { "\($0)" },
    read: @escaping () throws -> Value
  ) {
    self.name = name
    self.read = { text(try read()) }
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    iterator = stream.makeAsyncIterator()
    observer = Task {
      do { for try await value in values { continuation.yield(text(value)) } } catch {
        continuation.yield("\(error)")
      }
      continuation.finish()
    }
    // A request that fails delivers its error, which differs.
    now = (try? self.read()) ?? ""
  }

  /// True if the present answer isn't the one delivered last. Two spellings of a letter differ.
  mutating func differs() throws -> Bool {
    now = try read()
    return !now.utf8.elementsEqual(fired.utf8)
  }

  /// Waits for the next value. True if it is the present answer.
  mutating func arrives() async -> Bool {
    fired = await iterator.next() ?? "the end"
    return now.utf8.elementsEqual(fired.utf8)
  }

  /// Ends the observation, and returns what it delivered meanwhile.
  func ended() async -> [String] {
    observer.cancel()
    await observer.value
    var (rest, found) = (iterator, [String]())
    while let value = await rest.next() { found.append(value) }
    return found
  }
}

/// Random commits to a store of books, and the questions about them.
struct BookHistory {
  private var random: SeededChoices
  private struct Undone: Error {}

  init(seed: UInt64) { random = SeededChoices(seed: seed) }

  private static let titles = [
    "Caf\u{e9} Noir", "Cafe\u{301} Noir", "Maps of the Alps", "The alps", "Ålesund", "", "milk",
  ]
  private static let shelves = ["s1", "s2", "s3", "s\u{e9}"]
  private static let books = ["b1", "b2", "b3", "b4", "b5", "b6", "b7"]
  /// Books whose kind may be one that this app doesn't know. A request for one such record throws, so no request names
  /// them.
  private static let unreadable = ["b5", "b6", "b7"]

  /// Makes one to three changes in one transaction, which may be undone. Returns what was done.
  mutating func commit(to store: LocalStore) throws -> String {
    var deeds: [String] = []
    let count = Int.random(in: 1...3, using: &random)
    let isUndone = random.chance(0.05)
    do {
      try store.write { transaction in
        for _ in 0..<count { deeds.append(try change(transaction)) }
        if isUndone { throw Undone() }
      }
    } catch is Undone { deeds.append("undone") }
    return deeds.joined(separator: ", ")
  }

  private mutating func change(_ transaction: WriteTransaction) throws -> String {
    let id = random.pick(Self.books)
    let book = RecordID(type: "Book", id: id)
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      try transaction.save(Shelf(random.pick(Self.shelves), random.pick(Self.titles), random.pick([0, 1])))
      return "a shelf saved"
    case 1 where random.chance(0.5):
      let isDeleted = try transaction.delete(Shelf.self, id: random.pick(Self.shelves))
      return "a shelf deleted: \(isDeleted)"
    case 2:
      let isDeleted = try transaction.delete(Book.self, id: id)
      return "\(id) deleted: \(isDeleted)"
    default: break
    }
    guard try transaction.exists(Book.self, id: id) else {
      let lender = random.chance(0.3) ? nil : random.pick(Self.shelves)
      let book = Book(
        id, random.pick(Self.titles), pages: random.pick([1, 2, 300]), weight: random.pick(Self.weights),
        shelf: random.pick(Self.shelves), lender: lender)
      try transaction.insert(book, in: random.chance(0.5) ? "abroad" : nil)
      return "\(id) inserted"
    }
    if random.chance(0.1) {
      let isMoved = try transaction.move(book, to: random.pick(["Book", "abroad"]))
      return "\(id) moved: \(isMoved)"
    }
    let (field, value) = edit(of: id)
    try transaction.update(book, fields: [field: value])
    return "\(id).\(field) = \(value)"
  }

  private mutating func edit(of id: String) -> (field: String, value: FieldValue) {
    switch Int.random(in: 0..<7, using: &random) {
    case 0: return ("title", .text(random.pick(Self.titles)))
    case 1: return ("pages", .int(random.pick([1, 2, 300])))
    case 2: return ("weight", .double(random.pick(Self.weights)))
    case 3: return ("shelf", .text(random.pick(Self.shelves)))
    case 4: return ("lender", random.chance(0.3) ? .null : .text(random.pick(Self.shelves)))
    case 5: return ("place", random.pick([.null, .coordinate(Self.oslo), .coordinate(Self.fiji)]))
    default:
      let kinds = Self.unreadable.contains(id) ? ["novel", "poster", "globe"] : ["novel", "atlas"]
      return ("kind", .text(random.pick(kinds)))
    }
  }

  private static let weights = [0.5, 1, 1e300]
  private static let oslo = Coordinate(latitude: 59.91, longitude: 10.75)
  private static let fiji = Coordinate(latitude: -17.5, longitude: 179.99)

  /// A row of a selection.
  struct Line: Decodable {
    var title: String
    var pages: Int
    var shelf: String
  }

  /// A row of SQL.
  struct Sum: Decodable {
    var name: String?
    var total: Int?
    var heaviest: Double?
  }

  /// Returns all that a record of any type has, in one order.
  private static func text(_ records: [AnyRecord]) -> String {
    let texts = records.map { record in
      let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      return "\(record.id) \(record.container) \(record.metadata.modifiedTime ?? 0) \(fields)"
    }
    return "\(texts)"
  }
}

/// The questions about the books, of every kind of request.
extension BookHistory {
  static func observed(in store: LocalStore) -> [ObservedAnswer] {
    records(store) + numbers(store) + joins(store) + sql(store)
  }

  private static func observe(
    _ store: LocalStore, _ name: String, _ request: some ReadRequest
  ) -> ObservedAnswer {
    ObservedAnswer(name, store.values(of: request)) { try store.read { try $0.fetch(request) } }
  }

  private static func records(_ store: LocalStore) -> [ObservedAnswer] {
    let all = Book.all
    let byID = ObservedAnswer("by id", store.values(of: Book.self, id: "b1")) {
      try store.read { try $0.fetch(Book.self, id: "b1") }
    }
    let untyped = AnyQuery("Book", limit: 3)
    let anyType = ObservedAnswer("of any type", store.values(of: untyped), as: text) {
      try store.read { try $0.fetch(untyped) }
    }
    // Only an order by what a record lacks throws.
    let pages = [all.order(by: \.pages, .descending).limit(2), all.order(by: \.title, natural: true)]
    let earlier = pages.compactMap { try? $0.before(Book("b3", "M", pages: 100, shelf: "s1")) }
    return [
      byID, anyType, observe(store, "all", all), observe(store, "all again", all),
      observe(store, "by name", all.where { $0.title.equals(naturally: "CAFE NOIR") }),
      observe(store, "shelves", Shelf.all),
      observe(store, "thick", all.where { $0.pages > 1 }.order { $0.title.descending }),
      observe(store, "two", all.order { $0.weight.ascending }.limit(2, offset: 1)),
      observe(store, "first", all.order { $0.title.ascending }.first()),
      observe(store, "abroad", all.in(container: "abroad")),
      observe(store, "by words", all.matching("alp")),
      observe(store, "by two words", all.matching("cafe no")),
      observe(store, "best", all.matching("a", in: \.title, bestFirst: true).limit(3)),
      observe(store, "in natural order", all.order(by: \.title, .descending, natural: true).limit(3)),
      observe(store, "near", all.where { $0.place.isWithin(metres: 1000, of: oslo) }),
      observe(store, "nearest", all.nearest(to: fiji) { $0.place }.limit(1)),
      observe(
        store, "in a box",
        all.where { $0.place.isIn(GeoBox(west: 179, south: -20, east: -179, north: 0)) }),
    ] + earlier.map { observe(store, "before a book", $0) }
  }

  private static func numbers(_ store: LocalStore) -> [ObservedAnswer] {
    let all = Book.all
    return [
      observe(store, "count", all.count()),
      observe(store, "count of some", all.where { $0.title.hasPrefix("Caf") }.count()),
      observe(store, "sum", all.sum(\.pages)), observe(store, "average", all.average(\.weight)),
      observe(store, "minimum", all.minimum(\.title)),
      observe(store, "maximum", all.where { $0.pages < 300 }.maximum(\.weight)),
      observe(store, "groups", all.group(by: \.lender).count()),
      observe(store, "sums", all.group(by: \.shelf).sum(\.pages)),
      observe(store, "means", all.group(by: \.lender).average(\.weight)),
      observe(store, "least", all.group(by: \.shelf).minimum(\.title, having: { $0 < "M" })),
      observe(store, "titles", all.order(by: \.pages, .descending).limit(3).select(\.title)),
      observe(store, "kinds", all.select(\.kind, \.place)),
      observe(store, "lines", all.where { $0.pages > 1 }.select(\.title, \.pages, \.shelf, as: Line.self)),
      observe(store, "distinct", all.distinct(\.title)),
      observe(store, "distinct lenders", all.order(by: \.weight).limit(3).distinct(\.lender)),
      observe(store, "count of distinct", all.count(distinct: \.lender)),
    ]
  }

  private static func joins(_ store: LocalStore) -> [ObservedAnswer] {
    let all = Book.all
    return [
      observe(store, "with a shelf", all.with(\.shelf)),
      observe(store, "with a lender", all.limit(4).with(\.lender)),
      observe(store, "with books", Shelf.all.with(all.order { $0.pages.ascending }, by: \.shelf)),
      observe(store, "with two books", Shelf.all.with(all.limit(2, offset: 1), by: \.lender)),
      observe(store, "with counts", Shelf.all.withCount(of: all.where { $0.pages > 1 }, by: \.shelf)),
      observe(store, "with few counts", Shelf.all.withCount(of: all.limit(1, offset: 1), by: \.lender)),
      observe(store, "with sums", Shelf.all.withSum(of: \.pages, in: all, by: \.lender)),
      observe(store, "with means", Shelf.all.limit(2).withAverage(of: \.weight, in: all, by: \.shelf)),
      observe(store, "with snippets", all.matching("alp").withSnippet(of: \.title, words: 1)),
      observe(store, "with least", Shelf.all.withMinimum(of: \.title, in: all, by: \.shelf)),
    ]
  }

  private static func sql(_ store: LocalStore) -> [ObservedAnswer] {
    let join: SQLText = """
      SELECT Shelf.name, sum(pages) AS total, max(weight) AS heaviest
      FROM Shelf LEFT JOIN Book ON Book.shelf = Shelf._id GROUP BY Shelf._id ORDER BY Shelf._id
      """
    let words: SQLText = "SELECT count(*) FROM bothy_fts_Book WHERE bothy_fts_Book MATCH 'alps'"
    let places: SQLText = """
      SELECT count(*) FROM "bothy_geo(Book.place)" WHERE north < 0
      """
    let (letter, container): (SQLText, SQLText) = (
      "SELECT _id FROM Book WHERE title < \("M") ORDER BY _id", "SELECT _container FROM Book ORDER BY _id"
    )
    return [
      observe(store, "SQL of a column", SQLQuery("SELECT weight FROM Book ORDER BY _id", as: Double.self)),
      observe(
        store, "SQL by sort keys",
        SQLQuery("SELECT _id FROM Book ORDER BY _sort_title, _id", as: String.self)),
      observe(store, "SQL of rows", SQLQuery("SELECT count(*) FROM book", as: Int.self)),
      observe(store, "SQL of ids", SQLQuery(letter, as: String.self)),
      observe(store, "SQL of the container", SQLQuery(container, as: String?.self)),
      observe(store, "SQL of a join", SQLQuery(join, as: Sum.self)),
      observe(store, "SQL of words", SQLQuery(words, as: Int.self)),
      observe(store, "SQL of places", SQLQuery(places, as: Int.self)),
    ]
  }
}
