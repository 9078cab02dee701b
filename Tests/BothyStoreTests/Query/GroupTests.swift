import BothyStore
import Testing

/// Groups of records with a condition on their value.
@Suite("Groups with a condition", .timeLimit(.minutes(5))) struct GroupTests {
  let store: LocalStore

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      for number in 0..<20 {
        try transaction.insert(Errand("e\(number)", "T\(number % 6)", done: number % 2 == 0))
      }
    }
  }

  private func fetch<R: ReadRequest>(_ request: R) throws -> R.Value {
    try store.read { try $0.fetch(request) }
  }

  @Test("Groups whose number fails a condition are left out")
  func counts() throws {
    let all = try fetch(Errand.all.group(by: \.title).count())
    #expect(all.map(\.value) == [4, 4, 3, 3, 3, 3])
    #expect(try fetch(Errand.all.group(by: \.title).count(having: { $0 > 3 })).map(\.key) == ["T0", "T1"])
    #expect(try fetch(Errand.all.group(by: \.title).count(having: { !($0 > 3) && $0 != 7 })).count == 4)
    let done = Errand.where { $0.done == true }.group(by: \.title)
    #expect(try fetch(done.count(having: { [3].contains($0) })).map(\.key) == ["T2", "T4"])
    #expect(try fetch(done.count(having: { _ in Condition(false) })).isEmpty)
    #expect(try fetch(done.count(having: { _ in Condition(true) })).count == 3)
  }

  @Test("A condition takes the kind of the value")
  func kinds() throws {
    let groups = try fetch(Errand.all.group(by: \.done).maximum(\.title, having: { $0 < "T5" }))
    #expect(groups.map(\.key) == [true] && groups.map(\.value) == ["T4"])
    expect(.invalidQuery) {
      _ = try fetch(Errand.all.group(by: \.done).count(having: { _ in Field<String>("result") == "x" }))
    }
  }

  @Test("Groups of equal conditions share their answer, those of others don't")
  func identity() {
    let groups = Errand.all.group(by: \.title)
    let three = groups.count(having: { $0 > 3 }).plan.identity
    #expect(three == groups.count(having: { $0 > 3 }).plan.identity)
    #expect(three != groups.count(having: { $0 > 4 }).plan.identity)
    #expect(three != groups.count().plan.identity)
  }
}
