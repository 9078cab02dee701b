import BothyStore
import Testing

/// The range of texts that a prefix is compiled to.
@Suite("Prefixes", .timeLimit(.minutes(5))) struct PrefixTests {
  @Test("A prefix finds the texts that begin with it, not the next text")
  func end() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write { transaction in
      for title in ["mil", "milk", "milk bread", "mill", "mill pond"] {
        try transaction.insert(Todo(title, title))
      }
    }
    let begins = ConditionTree.beginsWith(field: "title", "milk", ignoringCase: false)
    let found = try store.fetch(RecordQuery<Todo>().where(begins)).map(\.id)
    #expect(found == ["milk", "milk bread"])
    let others = try store.fetch(RecordQuery<Todo>().where(.not(begins))).map(\.id)
    #expect(others == ["mil", "mill", "mill pond"])
  }
}
