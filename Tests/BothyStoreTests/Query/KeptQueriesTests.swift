import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeptQueriesTests {
  @Test("A connection keeps at most its limit of query statements")
  func limit() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write { try $0.insert(Todo("a")) }
    for count in 1...300 {
      let ids = (0..<count).map { FieldValue.text($0 == 0 ? "a" : "\($0)") }
      #expect(try store.fetch(RecordQuery<Todo>().where(.oneOf(field: "id", ids))).count == 1)
    }
    let kept = try store.read { $0.database.keptQueries }
    #expect(kept > 0 && kept <= PreparedStatement.queryLimit)
  }

  @Test("A repeated query is not prepared again")
  func again() throws {
    let store = try LocalStore(inMemory: todoSchema)
    for _ in 0..<20 { _ = try store.fetch(RecordQuery<Todo>().where(.compare(field: "done", .equal, true))) }
    #expect(try store.read { $0.database.keptQueries } == 1)
  }
}
