import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization
import Testing

/// The team's own rule for writes: what it is asked, and what its decisions do.
@Suite("The team's own rule for writes", .timeLimit(.minutes(5)))
struct WriteRuleTests {
  private typealias Change = BothySync.SyncOperation

  private func service(
    _ rule: any WriteRule, _ rules: AccessRules = AccessRules(), storage: (any ServerStorage)? = nil,
    acceptsUndecided: Bool = false
  ) throws -> SyncService {
    SyncService(
      storage: try storage ?? SQLiteServerStorage(),
      rules: rules.with(rule, acceptsUndecided: acceptsUndecided), now: { 1000 })
  }

  private func insert(
    _ id: String, _ fields: [String: JSONValue] = ["title": "t"], group: Int? = nil
  ) -> Change {
    Change(
      id: "op-\(id)", kind: .insert, record: .note(id), fields: fields,
      group: group.map { .init(id: "g", size: $0) })
  }

  private func update(
    _ id: String, _ fields: [String: JSONValue], base: String? = "1", as operation: String = "edit"
  ) -> Change {
    Change(id: operation, kind: .update, record: .note(id), base: base, fields: fields)
  }

  private func verdicts(_ changes: [Change], _ service: SyncService) async throws -> [Outcome.Verdict] {
    let request = SyncRequest(device: "d1", operations: changes)
    return try await service.sync(
      space: "s", user: Caller("ann"), try SyncRequest(decoding: request.encoded())
    ).outcomes.map(\.verdict)
  }

  private func words(_ changes: [Change], _ service: SyncService) async throws -> [String] {
    try await verdicts(changes, service).map { verdict in
      switch verdict {
      case .applied(let version, _, _): "applied \(version)"
      case .duplicate(let version, _, _): "duplicate \(version)"
      case .conflict: "conflict"
      case .rejected(let rejection): rejection.code
      case .waiting(let on): "waiting on \(on)"
      }
    }
  }

  private func fields(_ id: String, _ service: SyncService) async throws -> [String: JSONValue]? {
    let record = try await service.record(space: "s", user: Caller("ann"), .note(id))
    return try record.flatMap { $0.isDeleted ? nil : try $0.fields.members() }
  }

  // MARK: the proposal

  @Test("The rule sees each write with the record before and after it")
  func proposal() async throws {
    let rule = ScriptedRule()
    let service = try service(rule)
    let group = [insert("a", group: 2), insert("b", ["title": "b", "note": "x"], group: 2)]
    #expect(try await words(group, service) == ["applied 1", "applied 2"])
    let deletion = Change(id: "gone", kind: .delete, record: .note("a"), base: "1")
    let edit = update("b", ["title": "c", "note": .null], base: "2")
    #expect(try await words([edit, deletion], service) == ["applied 3", "applied 4"])
    let (first, second) = (try #require(rule.proposals.first), try #require(rule.proposals.last))
    #expect(rule.asked == [["op-a", "op-b"], ["edit", "gone"]])
    #expect(first.space == "s" && first.user == Caller("ann") && first.time == 1000)
    #expect(first.writes.map(\.kind) == [.insert, .insert] && first.writes.allSatisfy { $0.group == "g" })
    #expect(first.writes.allSatisfy { $0.before == nil && $0.after?.owner == "ann" })
    let written = try #require(second.writes.first)
    #expect(written.fields == ["title": "c", "note": .null])
    #expect(written.before?.version == "2" && written.after?.version == "")
    #expect(try written.before?.fields.members() == ["title": "b", "note": "x"])
    #expect(try written.after?.fields.members() == ["title": "c"])
    #expect(second.writes.last?.before?.version == "1" && second.writes.last?.after == nil)
  }

  @Test("Conflicts, refusals of the schema, repetitions and imports aren't asked about")
  func unasked() async throws {
    let rule = ScriptedRule()
    let service = try service(rule, .withoutNotes)
    #expect(try await words([insert("a")], service) == ["applied 1"])
    let later = [
      insert("a"), insert("b", ["title": "b", "note": "unknown"]), update("a", ["title": "x"], base: "0"),
      update("a", ["title": "t"], as: "same"),
    ]
    let expected = ["duplicate 1", "invalid", "conflict", "applied 1"]
    #expect(try await words(later, service) == expected)
    let record = ServerRecord(
      id: .note("c"), version: "", modified: 1, fields: FieldsDocument(["title": "c"]))
    #expect(try await service.restore([record], into: "s").inserted == 1)
    #expect(rule.asked == [["op-a"]])
  }

  @Test("Lists and changes of sharing are asked about")
  func lists() async throws {
    let rule = ScriptedRule {
      $0.record.type == UserList.typeName ? .refuse("noLists", "No lists.") : .accept
    }
    let service = try service(rule)
    let list = UserList(id: "L", name: "friends", members: ["bob"])
    let share = Change(
      id: "share", kind: .update, record: .note("a"), base: "1",
      sharing: SharingChange(add: .users("bob")))
    let new = Change(id: "list", kind: .insert, record: list.recordID, fields: list.fields)
    #expect(try await words([insert("a"), share, new], service) == ["applied 1", "applied 2", "noLists"])
    let asked = try #require(rule.proposals.first?.writes)
    #expect(asked.map(\.operation) == ["op-a", "share", "list"])
    #expect(asked[1].sharing == SharingChange(add: .users("bob")))
    #expect(asked[1].after?.sharing == .users("bob"))
  }

  @Test("A rule knows which sensitive fields are set, and can refuse them")
  func secrets() async throws {
    let taken = Mutex<[String]>([])
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, secrets in taken.withLock { $0 += secrets.values.values } }
    let rule = ScriptedRule { $0.sensitiveFields.isEmpty ? .accept : .refuse("notYours", "Not yours.") }
    let service = try service(rule, rules)
    _ = try await words([insert("a")], service)
    // The record itself doesn't change.
    var secret = update("a", [:])
    secret.secrets = Secrets(["pin": "MARKER"])
    #expect(try await words([secret], service) == ["notYours"])
    #expect(rule.proposals.last?.writes.first?.sensitiveFields == ["pin"])
    #expect(!"\(rule.proposals)".contains("MARKER") && taken.withLock { $0.isEmpty })
  }

  @Test("A rule is asked about an update that only clears a sensitive field")
  func clearedSecret() async throws {
    var type = Note.schema
    type.fields.append(FieldSchema("pin", .text, optional: true, sensitive: true))
    let rules = AccessRules(schema: StoreSchema(types: [type]))
    let rule = ScriptedRule { $0.sensitiveFields.isEmpty ? .accept : .refuse("notYours", "Not yours.") }
    let service = try service(rule, rules)
    _ = try await words([insert("a")], service)
    #expect(try await words([update("a", ["pin": .null])], service) == ["notYours"])
    let asked = try #require(rule.proposals.last?.writes.first)
    #expect(asked.operation == "edit" && asked.sensitiveFields == ["pin"] && asked.fields == ["pin": .null])
  }

  // MARK: refusals

  @Test("A refused write gets the rule's rejection, and its repetition gets it too")
  func refused() async throws {
    let problem = Rejection.FieldError(field: "title", code: "rude", message: "Say it nicely.")
    let rule = ScriptedRule { write in
      write.fields["title"] == "bad" ? .refuse("rude", "That is rude.", fields: [problem]) : .accept
    }
    let service = try service(rule)
    let changes = [insert("a", ["title": "bad"]), insert("b")]
    let expected = Outcome.Verdict.rejected(
      Rejection(code: "rude", message: "That is rude.", fields: [problem]))
    #expect(try await verdicts(changes, service).first == expected)
    rule.set { _ in .accept }
    #expect(try await verdicts(changes, service).first == expected)
    #expect(rule.asked == [["op-a", "op-b"]])
    #expect(try await fields("a", service) == nil)
    #expect(try await fields("b", service) == ["title": "t"])
    // The request for one record has no id, and is decided each time.
    let one = insert("a", ["title": "bad"])
    let verdict = try await service.perform(space: "s", user: Caller("ann"), one)
    #expect(verdict.isApplied)
  }

  @Test("A refused write refuses its group, and those that refer to its record wait")
  func groups() async throws {
    let rule = ScriptedRule { $0.operation == "op-b" ? .refuse("no", "No.") : .accept }
    let service = try service(rule)
    let changes = [insert("a", group: 3), insert("b", group: 3), insert("c", group: 3), insert("d")]
    #expect(
      try await words(changes, service) == ["waiting on op-b", "no", "waiting on op-b", "applied 1"])
    #expect(try await words(changes, service)[0...2] == ["waiting on op-b", "no", "waiting on op-b"])
    #expect(rule.asked == [["op-a", "op-b", "op-c", "op-d"]])
    let family = try self.service(
      ScriptedRule { $0.record.type == "Parent" ? .refuse("no", "No.") : .accept }, .family)
    let child = [
      Change(id: "p", kind: .insert, record: RecordID(type: "Parent", id: "P"), fields: ["name": "p"]),
      Change(
        id: "c", kind: .insert, record: RecordID(type: "Child", id: "C"),
        fields: ["name": "c", "parent": "P"]),
    ]
    #expect(try await words(child, family) == ["no", "waiting on p"])
  }

  // MARK: amendments

  @Test("An amended write is stored and answered with the rule's fields")
  func amended() async throws {
    let rule = ScriptedRule { write in
      write.operation == "all"
        ? .amend(replacingAllBy: ["title": "only"]) : .amend(setting: ["stamp": 7, "note": .null])
    }
    let service = try service(rule)
    let first = insert("a", ["title": "t", "note": "x"])
    guard case .applied("1", _, let record?)? = try await verdicts([first], service).first else {
      Issue.record("the record is in the answer")
      return
    }
    #expect(try record.fields.members() == ["title": "t", "stamp": 7])
    guard case .duplicate("1", _, record)? = try await verdicts([first], service).first else {
      Issue.record("a repetition gets the same record")
      return
    }
    let all = update("a", ["title": "u", "extra": "x"], as: "all")
    #expect(try await words([all], service) == ["applied 2"])
    #expect(try await fields("a", service) == ["title": "only"])
    #expect(rule.asked == [["op-a"], ["all"]])
  }

  @Test("A write that the rule amends to the present record answers with that record")
  func undone() async throws {
    let rule = ScriptedRule { $0.kind == .update ? .amend(setting: ["title": "t"]) : .accept }
    let service = try service(rule)
    _ = try await words([insert("a")], service)
    guard
      case .applied("1", _, let record?)? = try await verdicts([update("a", ["title": "x"])], service).first
    else {
      Issue.record("the version stays")
      return
    }
    #expect(try record.fields.members() == ["title": "t"])
  }

  @Test("An amended write is checked by schema, references and unique fields")
  func amendedBadly() async throws {
    let rule = ScriptedRule { write in
      write.record.type == "Child" ? .amend(setting: ["parent": "P9"]) : .amend(setting: ["x": 1])
    }
    let service = try service(rule, .family)
    let changes = [
      Change(id: "p", kind: .insert, record: RecordID(type: "Parent", id: "P"), fields: ["name": "p"]),
      Change(
        id: "c", kind: .insert, record: RecordID(type: "Child", id: "C"),
        fields: ["name": "c", "parent": "P"],
        group: .init(id: "g", size: 1)),
    ]
    #expect(try await words([changes[0]], service) == ["invalid"])
    rule.set { $0.record.type == "Child" ? .amend(setting: ["parent": "P9"]) : .accept }
    var again = changes
    again[0].id = "p2"
    #expect(try await words(again, service) == ["applied 1", "unknownReference"])
    (again[1].id, again[1].group) = ("c2", nil)
    #expect(try await words([again[1]], service) == ["unknownReference"])
    let type = TypeSchema("Note", fields: [FieldSchema("title", .text, optional: true, unique: true)])
    let unique = try self.service(
      ScriptedRule { $0.operation == "op-b" ? .amend(setting: ["title": "t"]) : .accept },
      AccessRules(schema: StoreSchema(types: [type])))
    #expect(
      try await words([insert("a"), insert("b", ["title": "free"])], unique)
        == ["applied 1", "uniqueViolation"])
  }

  @Test("The sender needs no permission for fields that the rule sets")
  func amendedBeyondPermission() async throws {
    let rule = ScriptedRule { $0.kind == .update ? .amend(setting: ["note": "shared"]) : .accept }
    let rules = SharingRuleTests.rules(update: .nobody)
    let service = try service(rule, rules)
    let share = Change(
      id: "share", kind: .update, record: .note("a"), base: "1", sharing: SharingChange(add: .users("bob")))
    #expect(try await words([insert("a"), share], service) == ["applied 1", "applied 2"])
    #expect(try await fields("a", service)?["note"] == "shared")
  }
}
