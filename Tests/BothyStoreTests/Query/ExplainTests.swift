import BothyStore
import BothyTestSupport
import Testing

/// How SQLite reads queries, as text and as warnings.
@Suite("Explained queries", .timeLimit(.minutes(5))) struct ExplainTests {
  private func store(_ count: Int = 3, _ options: StoreOptions = StoreOptions()) throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self), options: options)
    try store.write { transaction in
      for number in 0..<count { try transaction.insert(Errand("e\(number)", "Errand \(number)")) }
    }
    return store
  }

  @Test("A plan has the SQL with values, the index, and the scanned records")
  func plans() throws {
    let store = try store()
    let found = try store.read { try $0.explain(RecordQuery<Errand>().where { $0.title == "Errand 1" }) }
    #expect(found.hasPrefix("SELECT _id"), "\(found)")
    #expect(found.contains("\"title\" = 'Errand 1'"), "\(found)")
    #expect(found.contains("\n  SEARCH Errand USING INDEX bothy_index_Errand_title (title=?)"), "\(found)")
    #expect(found.hasSuffix("\n  1 run, 0 records visited by scans"), "\(found)")
    let scan = try store.read { try $0.explain(RecordQuery<Errand>().where { !$0.done }.count()) }
    #expect(scan.contains("\n  SCAN Errand"), "\(scan)")
    #expect(scan.hasSuffix("1 run, 3 records visited by scans"), "\(scan)")
  }

  @Test("Statements with equal text are one, and those of indexes are left out")
  func statements() throws {
    let store = try store()
    let query = AnyQuery("Errand", where: .matches("errand"))
    let found = try store.read { transaction in
      try transaction.explained { for _ in 0..<3 { _ = try transaction.fetch(query) } }
    }
    #expect(found.map(\.runs) == [3])
    #expect(found.first?.plan.contains { $0.contains("bothy_fts_Errand") } == true, "\(found)")
  }

  @Test("A request that can't be read throws, and later ones are explained")
  func failing() throws {
    let store = try store()
    expect(.unknownField) {
      _ = try store.read { try $0.explain(RecordQuery<Errand>().where(Field<Int>("none") == 1)) }
    }
    #expect(try store.read { try $0.explain(RecordQuery<Errand>().first()) }.hasPrefix("SELECT"))
    #expect(try store.read { try $0.explained {} } == [])
  }

  #if DEBUG
    @Test("A scan of many records that finds few is warned of once")
    func warning() throws {
      let log = RecordedLog()
      let store = try store(10_050, StoreOptions(logger: log.logger))
      let done = RecordQuery<Errand>().where { $0.done == true }
      // Neither whole types nor few records are worth a warning.
      #expect(try store.fetch(RecordQuery<Errand>()).count == 10_050)
      #expect(try store.fetch(RecordQuery<Errand>().where { $0.done == false }).count == 10_050)
      #expect(try store.count(RecordQuery<Errand>()) == 10_050)
      #expect(try store.fetch(RecordQuery<Errand>().where { $0.title == "Errand 7" }).count == 1)
      #expect(log.lines == [])
      for _ in 0..<2 { #expect(try store.fetch(done).isEmpty) }
      #expect(log.lines.count == 1)
      let line = try #require(log.lines.first)
      #expect(line.hasPrefix("warning: A query visited 100"), "\(line)")
      #expect(line.contains("records of Errand to find 0.") && line.contains("\"done\" = 1"), "\(line)")
      #expect(try store.count(done) == 0)
      #expect(log.lines.count == 2)
    }

    @Test("Selected fields, different values and SQL are warned of too")
    func otherReads() async throws {
      let log = RecordedLog()
      let store = try store(10_050, StoreOptions(logger: log.logger))
      let (all, done) = (RecordQuery<Errand>(), RecordQuery<Errand>().where { $0.done == true })
      // No index spares these a visit of all records.
      #expect(try await store.fetch(all.select(\.title)).count == 10_050)
      #expect(try await store.fetch(all.distinct(\.done)) == [false])
      #expect(try await store.sql("SELECT sum(done) FROM Errand", as: Int.self) == [0])
      #expect(
        try await store.sql("SELECT done FROM Errand WHERE title = 'Errand 7'", as: Bool.self) == [false])
      #expect(log.lines == [])
      #expect(try await store.fetch(done.select(\.title)).isEmpty)
      #expect(try await store.fetch(done.distinct(\.done)).isEmpty)
      #expect(try await store.sql("SELECT title FROM Errand WHERE done", as: String.self).isEmpty)
      #expect(log.lines.count == 3)
      let line = try #require(log.lines.last)
      #expect(line.contains("records to find 0.") && line.contains("WHERE done"), "\(line)")
    }
  #endif
}
