import BothyStore
import BothyTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ObservationTests {
  let store: LocalStore

  init() throws { store = try LocalStore(inMemory: todoSchema) }

  @Test("The present value comes first, then one after each commit that changed it")
  func values() async throws {
    var iterator = store.values(of: Todo.self, id: "a").makeAsyncIterator()
    #expect(try await iterator.next() == .some(nil))
    try await store.write { try $0.insert(Todo("a", "one")) }
    #expect(try await iterator.next() == Todo("a", "one"))
    try await store.write { _ = try $0.delete(Todo.self, id: "a") }
    #expect(try await iterator.next() == .some(nil))
  }

  @Test("A transaction counts as one change, whatever it writes")
  func oneNotice() async throws {
    var iterator = store.values(of: Todo.self, id: "a").makeAsyncIterator()
    _ = try await iterator.next()
    try await store.write { transaction in
      try transaction.insert(Todo("a", "one"))
      for title in ["two", "three"] { try transaction.update(Todo.self, id: "a") { $0.title = title } }
    }
    #expect(try await iterator.next()??.title == "three")
    try await store.write { try $0.update(Todo.self, id: "a") { $0.title = "four" } }
    #expect(try await iterator.next()??.title == "four")
  }

  @Test("A commit that doesn't change the value is not delivered")
  func onlyChanges() async throws {
    try await store.write { try $0.insert(Todo("a", "one")) }
    var iterator = store.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
    #expect(try await iterator.next() == "one")
    try await store.write { try $0.update(Todo.self, id: "a") { $0.done = true } }
    try await store.write { try $0.insert(Todo("b", "other")) }
    try await store.write { try $0.update(Todo.self, id: "a") { $0.title = "two" } }
    #expect(try await iterator.next() == "two")
  }

  @Test("A closure is run again only when its region is touched")
  func regions() async throws {
    let reads = Received<Int>()
    var iterator = store.observe(.types("Tag")) { transaction in
      reads.append(1)
      return try transaction.exists(RecordID(type: "Tag", id: "t"))
    }.makeAsyncIterator()
    #expect(try await iterator.next() == false)
    try await store.write { try $0.insert(Todo("a")) }
    try await store.write { try $0.insert(Todo("b")) }
    try await store.write { try $0.insert(Tag("t", "x")) }
    #expect(try await iterator.next() == true)
    #expect(reads.values.count == 2)
  }

  @Test("Records of any type can be observed")
  func dynamic() async throws {
    var iterator = store.values(of: RecordID(type: "Todo", id: "a")).makeAsyncIterator()
    #expect(try await iterator.next() == .some(nil))
    try await store.write { try $0.insert(AnyRecord("Todo", id: "a", ["title": "one"])) }
    #expect(try await iterator.next()??["title"] == "one")
  }

  @Test("A slow consumer sees the newest value and skips those before it")
  func coalescing() async throws {
    var iterator = store.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
    #expect(try await iterator.next() == .some(nil))
    try await store.write { try $0.insert(Todo("a", "0")) }
    for number in 1...50 {
      try await store.write { try $0.update(Todo.self, id: "a") { $0.title = "\(number)" } }
    }
    var last = try await iterator.next()
    var steps = 1
    while last != "50" {
      last = try await iterator.next()
      steps += 1
    }
    #expect(steps <= 2)
  }

  @Test("Cancelling the consumer ends the sequence at once and removes the subscription")
  func cancellation() async throws {
    let received = Received<String?>()
    let consumer = Task { [store] in
      for try await title in store.values(of: Todo.self, id: "a", \.title) { received.append(title) }
      return true
    }
    try await until { received.values.count == 1 }
    consumer.cancel()
    #expect(try await consumer.value)
    try await store.write { try $0.insert(Todo("a", "one")) }
    #expect(received.values == [nil])
  }

  @Test("An error of the read is thrown and ends the sequence")
  func failure() async throws {
    var iterator = store.values(of: RecordID(type: "Nothing", id: "a")).makeAsyncIterator()
    await #expect(throws: BothyError.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test("Closing the store ends every observation")
  func closing() async throws {
    let received = Received<Int>()
    let observation = store.values(of: Todo.self, id: "a")
    let commits = store.commits
    let consumers = Task {
      async let notices: Void = { for await _ in commits {} }()
      for try await _ in observation { received.append(1) }
      await notices
    }
    try await until { received.values.count == 1 }
    try store.close()
    try await withDeadline { try await consumers.value }
    var late = observation.makeAsyncIterator()
    #expect(try await late.next() == nil)
  }

  @Test("An observation keeps the store open, and the last one closes it")
  func lifetime() async throws {
    weak var released: LocalStore?
    var iterator: LiveValues<Todo?>.AsyncIterator?
    do {
      let store = try LocalStore(inMemory: todoSchema)
      released = store
      iterator = store.values(of: Todo.self, id: "a").makeAsyncIterator()
    }
    #expect(try await iterator?.next() == .some(nil))
    #expect(released != nil)
    iterator = nil
    try await until { released == nil }
  }

  @Test("The commit stream reports the touched records")
  func commits() async throws {
    var iterator = store.commits.makeAsyncIterator()
    try await store.write { transaction in
      try transaction.insert(Todo("a"))
      try transaction.insert(Todo("b"))
    }
    #expect(await iterator.next()?.records == ["Todo": .some(["a", "b"])])
    try await store.write { transaction in
      for number in 0..<1000 { try transaction.insert(Tag("\(number)", "\(number)")) }
    }
    #expect(await iterator.next()?.records == ["Tag": .any])
  }

  @Test("A transaction that is rolled back sends no notice")
  func rollback() async throws {
    var iterator = store.commits.makeAsyncIterator()
    await #expect(throws: TimedOut.self) {
      try await store.write { transaction in
        try transaction.insert(Todo("a"))
        throw TimedOut()
      }
    }
    try await store.write { try $0.insert(Todo("b")) }
    #expect(await iterator.next()?.records == ["Todo": .some(["b"])])
  }

  @Test("A hundred observers make a write less than ten times as slow") func cost() async throws {
    let folders = [try TemporaryFolder(), try TemporaryFolder()]
    let stores = try folders.map {
      try LocalStore(at: $0.database, schema: todoSchema, options: StoreOptions(durability: .normal))
    }
    let received = Received<Int>()
    let consumers = (0..<100).map { number in
      Task {
        let observation = stores[1].observe(.types("Todo")) {
          try $0.exists(RecordID(type: "Todo", id: "b\(number)"))
        }
        for try await _ in observation { received.append(number) }
      }
    }
    defer { for consumer in consumers { consumer.cancel() } }
    try await until { received.values.count == 100 }
    func write(_ number: Int, to store: LocalStore) throws -> Duration {
      try processorTime { try store.write { try $0.insert(Todo("a\(number)")) } }
    }
    // Each store writes in turn, so that what else the machine does slows both alike.
    var times: [[Duration]] = [[], []]
    for number in 0..<50 {
      for (index, store) in stores.enumerated() { times[index].append(try write(number, to: store)) }
    }
    let (alone, observed) = (times[0].sorted()[5], times[1].sorted()[5])
    #expect(observed < alone * 10, "\(alone) alone, \(observed) with a hundred observers")
  }
}
