import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The team's own rule on the server, as devices see it.
@Suite("Stories of the team's own rule", .timeLimit(.minutes(5)))
struct WriteRuleStories {
  @Test("A device shows the record that the rule made of its change")
  func amended() async throws {
    let rule = ScriptedRule { write in
      write.kind == .insert ? .amend(setting: ["title": "Oil", "note": "by the rule"]) : .accept
    }
    let pair = try Pair(rules: AccessRules().with(rule))
    try pair.a.insert("T1", "oil")
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try pair.a.note()?.title == "Oil" && pair.a.note()?.note == "by the rule")
    #expect(try await pair.isEven())
    #expect(rule.asked.count == 1)
  }

  @Test("Amended records without room in an answer come when sent again")
  func amendedMany() async throws {
    let rule = ScriptedRule { _ in .amend(setting: ["note": "by the rule"]) }
    var rules = AccessRules().with(rule)
    rules.answerSize = 50
    let pair = try Pair(rules: rules)
    let ids = (1...6).map { "T\($0)" }
    for id in ids { try pair.a.insert(id, "oil") }
    #expect(await pair.a.store.sync().pushed == 6)
    for id in ids { #expect(try pair.a.note(id)?.note == "by the rule") }
    #expect(try await pair.isEven())
    #expect(rule.asked.count == 1)
  }

  @Test("An edit amid the answer to an amended change keeps both")
  func amendedThenEdited() async throws {
    let rule = ScriptedRule {
      $0.kind == .insert ? .amend(setting: ["note": "by the rule", "score": 10]) : .accept
    }
    let pair = try Pair(rules: AccessRules().with(rule))
    await pair.a.store.sync()
    try pair.a.insert("T1", "oil")
    let (store, calls) = (pair.a.store.store, Calls())
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      let edited: Void? = try? await store.write {
        _ = try $0.update(Note.self, id: "T1") { ($0.title, $0.score) = ("lamp", $0.score + 1) }
      }
      #expect(edited != nil)
    }
    await pair.a.store.sync()
    #expect(rule.asked.count == 2)
    #expect(try await pair.isEven())
    for device in [pair.a, pair.b] {
      let note = try #require(try device.note())
      #expect(note.title == "lamp" && note.note == "by the rule" && note.score == 11)
    }
  }

  @Test("A change that the rule refuses waits for a decision, with the rule's words")
  func refused() async throws {
    let rule = ScriptedRule { write in
      write.fields["title"] == "bad" ? .refuse("rude", "Say it nicely.") : .accept
    }
    let pair = try Pair(rules: AccessRules().with(rule))
    try pair.a.insert("T1", "bad")
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.rejection) == [Rejection(code: "rude", message: "Say it nicely.")])
    #expect(try await pair.serverTitle() == nil && pair.a.title() == "bad")
    try pair.a.retitle("good")
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.isEven())
  }

  @Test("While the rule is out, changes stay pending and are sent once later")
  func outage() async throws {
    let rule = ScriptedRule { _ in throw ScriptedRule.Broken() }
    let pair = try Pair(rules: AccessRules().with(rule))
    try pair.a.insert("T1", "one")
    let report = await pair.a.store.sync()
    #expect(report.retryAfter == 5 && report.rejected.isEmpty)
    #expect(try pair.a.isPending() && pair.a.title() == "one")
    rule.set { _ in .accept }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.isEven())
    #expect(rule.asked.count == 2)
  }
}
