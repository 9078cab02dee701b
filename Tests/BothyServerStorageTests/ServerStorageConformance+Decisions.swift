import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of a rule for writes, which is asked between two transactions of the storage.
extension ServerStorageConformance {
  /// A rule that decides by a function. It runs another function first.
  private struct FunctionRule: WriteRule {
    var meanwhile: @Sendable () async throws -> Void = {}
    let decide: @Sendable (ProposedWrite) -> WriteDecision

    func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
      try await meanwhile()
      return proposal.writes.map(decide)
    }
  }

  private static func service(_ storage: any ServerStorage, _ rule: (any WriteRule)?) -> SyncService {
    var rules = AccessRules()
    rules.writeRule = rule
    return SyncService(storage: storage, rules: rules, now: { 1000 })
  }

  private static func insert(_ id: String) -> BothySync.SyncOperation {
    SyncOperation(id: "op-\(id)", kind: .insert, record: .note(id), fields: ["title": "t"])
  }

  private static func send(
    _ operations: [BothySync.SyncOperation], _ service: SyncService
  ) async throws -> [Outcome.Verdict] {
    let request = SyncRequest(device: "d", operations: operations)
    return try await service.sync(space: "s", user: Caller("ann"), request).outcomes.map(\.verdict)
  }

  static let decisionChecks: [Check] = [
    Check("A rule's refusals and amendments are stored and remembered") { storage in
      let service = service(
        storage,
        FunctionRule { $0.record.id == "a" ? .refuse("no", "No.") : .amend(setting: ["stamp": 1]) })
      let refusal = Outcome.Verdict.rejected(Rejection(code: "no", message: "No."))
      let operations = [insert("a"), insert("b")]
      let first = try await send(operations, service)
      guard first.first == refusal, case .applied("1", _, let record?)? = first.last else {
        Issue.record("\(first)")
        return
      }
      #expect(try record.fields.members() == ["title": "t", "stamp": 1])
      let repeated = try await send(operations, Self.service(storage, nil))
      #expect(
        repeated == [refusal, .duplicate(version: "1", modified: record.modified, record: record)])
    },
    Check("An operation with a zero byte in its record's name is rejected alone") { storage in
      let service = service(storage, nil)
      let names = [RecordID.note("a\u{0}b"), RecordID(type: "No\u{0}te", id: "a"), .note("good")]
      let operations = names.enumerated().map { number, name in
        SyncOperation(id: "op-\(number)", kind: .insert, record: name, fields: ["title": "t"])
      }
      let verdicts = try await send(operations, service)
      let codes = verdicts.map { verdict in
        if case .rejected(let rejection) = verdict { rejection.code } else { "" }
      }
      #expect(codes == ["invalidName", "invalidName", ""])
      #expect(try await send(operations, service).prefix(2) == verdicts.prefix(2))
      let found = try await storage.read(space: "s") { try $0.records(names) }
      #expect(found.map(\.key) == [.note("good")])
    },
    Check("A rule that fails leaves the space as it was") { storage in
      let service = service(storage, FunctionRule { _ in .undecided("out") })
      await #expect(throws: WriteRuleUnavailable.self) { try await send([insert("a")], service) }
      let found = try await storage.read(space: "s") { ($0.head, try $0.records([.note("a")]).count) }
      #expect(found == (0, 0))
    },
    Check("Others write to the space while a rule decides, and their change is a conflict") { storage in
      let plain = service(storage, nil)
      _ = try await send([insert("a")], plain)
      let other = SyncOperation(
        id: "theirs", kind: .update, record: .note("a"), base: "1", fields: ["title": "theirs"])
      let mine = SyncOperation(
        id: "mine", kind: .update, record: .note("a"), base: "1", fields: ["title": "mine"])
      let rule = FunctionRule(meanwhile: {
        _ = try await plain.perform(space: "s", user: Caller("bob"), other)
      }) { _ in .accept }
      guard case .conflict(let current?)? = try await send([mine], service(storage, rule)).first else {
        Issue.record("the other write came first")
        return
      }
      #expect(try current.fields.members() == ["title": "theirs"])
    },
  ]
}
