import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// A rule that is out, decides nonsense, or decides about something that has changed meanwhile.
@Suite("Outages and races of the team's own rule", .timeLimit(.minutes(5)))
struct WriteRuleRoundTests {
  private typealias Change = BothySync.SyncOperation

  private let storage: SQLiteServerStorage
  /// A server on the same storage without a rule.
  private let plain: SyncService

  init() throws {
    storage = try SQLiteServerStorage()
    plain = SyncService(storage: storage, now: { 1000 })
  }

  private func service(_ rule: any WriteRule, acceptsUndecided: Bool = false) -> SyncService {
    SyncService(
      storage: storage, rules: AccessRules().with(rule, acceptsUndecided: acceptsUndecided), now: { 1000 })
  }

  private func insert(_ id: String, as operation: String = "new") -> Change {
    Change(id: operation, kind: .insert, record: .note(id), fields: ["title": "t"])
  }

  private func words(
    _ changes: [Change], _ service: SyncService, as name: String = "ann"
  ) async throws -> [String] {
    let request = SyncRequest(device: name, operations: changes)
    return try await service.sync(space: "s", user: Caller(name), request).outcomes.map { outcome in
      switch outcome.verdict {
      case .applied(let version, _, _): "applied \(version)"
      case .duplicate(let version, _, _): "duplicate \(version)"
      case .conflict: "conflict"
      case .rejected(let rejection): rejection.code
      case .waiting(let on): "waiting on \(on)"
      }
    }
  }

  // MARK: outages

  /// Promises: A-27
  @Test("While the rule fails, nothing is written or remembered, and reads go on")
  func outage() async throws {
    let rule = ScriptedRule { _ in throw ScriptedRule.Broken() }
    let service = service(rule)
    await #expect(throws: WriteRuleUnavailable.self) { try await words([insert("a")], service) }
    await #expect(throws: WriteRuleUnavailable.self) {
      try await service.perform(space: "s", user: Caller("ann"), insert("a"))
    }
    let pull = SyncRequest(device: "ann", pulls: [.init(.everything)])
    let page = try await service.sync(space: "s", user: Caller("ann"), pull).pages.first
    #expect(page?.changes.isEmpty == true)
    rule.set { _ in .accept }
    #expect(try await words([insert("a")], service) == ["applied 1"])
    #expect(try await words([insert("a")], service) == ["duplicate 1"])
  }

  @Test("One write without a decision leaves the whole request for later, or is accepted")
  func undecided() async throws {
    let rule = ScriptedRule { write in
      switch write.record.id {
      case "a": .undecided("no answer")
      case "b": .refuse("no", "No.")
      default: .accept
      }
    }
    let changes = ["a", "b", "c"].map { insert($0, as: $0) }
    let error = await #expect(throws: WriteRuleUnavailable.self) {
      try await words(changes, service(rule))
    }
    #expect(error?.detail == "no answer")
    #expect(try await storage.read(space: "s") { $0.head } == 0)
    let accepting = service(rule, acceptsUndecided: true)
    #expect(try await words(changes, accepting) == ["applied 1", "no", "applied 2"])
  }

  private struct Counting: WriteRule {
    var count: Int
    func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
      Array(repeating: .accept, count: count)
    }
  }

  @Test("Decisions that don't fit the writes decide nothing")
  func unfit() async throws {
    for count in [0, 2] {
      await #expect(throws: WriteRuleUnavailable.self) {
        try await words([insert("a")], service(Counting(count: count)))
      }
    }
    let long = String(repeating: "x", count: 2001)
    let problem = Rejection.FieldError(field: "title", code: "", message: "m")
    for decision in [
      WriteDecision.refuse("incompleteGroup", "No."), .refuse("serverError", "No."), .refuse("", "No."),
      .refuse("no", long), .refuse("no", "No.", fields: [problem]),
    ] {
      await #expect(throws: WriteRuleUnavailable.self) {
        try await words([insert("a")], service(ScriptedRule { _ in decision }))
      }
    }
    _ = try await words([insert("a")], plain)
    let deletion = Change(id: "gone", kind: .delete, record: .note("a"), base: "1")
    for decision in [WriteDecision.amend(setting: [:]), .amend(replacingAllBy: [:])] {
      await #expect(throws: WriteRuleUnavailable.self) {
        try await words([deletion], service(ScriptedRule { _ in decision }))
      }
    }
    #expect(try await words([deletion], service(ScriptedRule())) == ["applied 2"])
  }

  @Test("A caller who leaves while the rule decides is no outage")
  func cancelled() async throws {
    let latch = Latch()
    let rule = ScriptedRule(meanwhile: { _ in
      await latch.pass()
      try Task.checkCancellation()
    })
    let service = service(rule)
    let change = insert("a")
    let task = Task {
      try await service.perform(space: "s", user: Caller("ann"), change)
    }
    await latch.reached()
    task.cancel()
    latch.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // MARK: changes in between

  @Test("A record that changed since the decision is a conflict, and isn't decided again")
  func changedMeanwhile() async throws {
    _ = try await words([insert("a")], plain)
    let (plain, edit) = (
      plain, Change(id: "x", kind: .update, record: .note("a"), base: "1", fields: ["n": 1])
    )
    let rule = ScriptedRule(meanwhile: { _ in
      _ = try await plain.perform(space: "s", user: Caller("bob"), edit)
    })
    let mine = Change(id: "y", kind: .update, record: .note("a"), base: "1", fields: ["n": 2])
    #expect(try await words([mine], service(rule)) == ["conflict"])
    #expect(rule.asked == [["y"]])
  }

  /// Promises: A-28
  @Test("A write whose result changed since the decision is decided again")
  func otherResult() async throws {
    let (plain, first) = (plain, insert("a"))
    let gone = Change(id: "gone", kind: .delete, record: .note("a"), base: "1")
    let rule = ScriptedRule {
      $0.after?.owner == "bob" ? .refuse("bobs", "It was Bob's.") : .accept
    } meanwhile: { number in
      guard number == 1 else { return }
      for change in [first, gone] {
        _ = try await plain.perform(space: "s", user: Caller("bob"), change)
      }
    }
    #expect(try await words([insert("a")], service(rule)) == ["bobs"])
    #expect(rule.asked == [["new"], ["new"]])
  }

  @Test("The same request that overtakes its first sending is applied once")
  func overtaken() async throws {
    let (plain, change) = (plain, insert("a"))
    let rule = ScriptedRule(meanwhile: { _ in
      let request = SyncRequest(device: "ann", operations: [change])
      _ = try await plain.sync(space: "s", user: Caller("ann"), request)
    })
    #expect(try await words([insert("a")], service(rule)) == ["duplicate 1"])
  }

  // MARK: changes on top of others

  /// Returns changes of one record, each on top of the one before.
  private func chain(_ numbers: ClosedRange<Int>, base: String) -> [Change] {
    numbers.map { number in
      var change = Change(
        id: "\(number)", kind: .update, record: .note("a"), fields: ["n": .int(Int64(number))])
      if number == numbers.lowerBound { change.base = base } else { change.after = "\(number - 1)" }
      return change
    }
  }

  @Test("Changes on top of others are decided in one call")
  func chained() async throws {
    _ = try await words([insert("a")], plain)
    let rule = ScriptedRule()
    #expect(
      try await words(chain(1...3, base: "1"), service(rule)) == ["applied 2", "applied 3", "applied 4"])
    #expect(rule.asked == [["1", "2", "3"]])
    let writes = try #require(rule.proposals.first?.writes)
    #expect(writes.map { $0.before?.version } == ["1", "", ""])
    #expect(try writes[2].before?.fields.members()["n"] == 2)
  }

  @Test("A change on top of an amended one is decided again")
  func amendedChain() async throws {
    _ = try await words([insert("a")], plain)
    let rule = ScriptedRule { $0.operation == "1" ? .amend(setting: ["stamp": 1]) : .accept }
    #expect(try await words(chain(1...2, base: "1"), service(rule)) == ["applied 2", "applied 3"])
    #expect(rule.asked == [["1", "2"], ["2"]])
    #expect(try rule.proposals.last?.writes.first?.before?.fields.members()["stamp"] == 1)
  }

  @Test("Each request makes progress on a long chain of amended changes")
  func longChain() async throws {
    _ = try await words([insert("a")], plain)
    let rule = ScriptedRule { .amend(setting: ["stamp": .string($0.operation)]) }
    let service = service(rule)
    #expect(
      try await words(chain(1...6, base: "1"), service)
        == ["applied 2", "applied 3", "applied 4", "applied 5", "waiting on 4", "waiting on 5"])
    #expect(rule.asked.map(\.count) == [6, 5, 4, 3])
    #expect(try await words(chain(7...8, base: "5"), service) == ["applied 6", "applied 7"])
  }

  // MARK: cost

  /// Counts the transactions of a storage.
  private struct CountingStorage: ServerStorage {
    let base: SQLiteServerStorage
    let reads = Calls()
    let writes = Calls()

    var identity: String { base.identity }

    func write<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
    ) async throws -> Result {
      _ = writes.add()
      return try await base.write(space: space, body)
    }

    func read<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
    ) async throws -> Result {
      _ = reads.add()
      return try await base.read(space: space, body)
    }
  }

  @Test("A request costs one write, and one read more with a rule")
  func cost() async throws {
    for (rules, reads) in [(AccessRules(), 0), (AccessRules().with(ScriptedRule()), 1)] {
      let counting = CountingStorage(base: try SQLiteServerStorage())
      let service = SyncService(storage: counting, rules: rules, now: { 1000 })
      #expect(try await words([insert("a")], service) == ["applied 1"])
      #expect(counting.reads.count == reads && counting.writes.count == 1)
    }
  }
}
