import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

@Suite("Values of sensitive fields of a request", .timeLimit(.minutes(5)))
struct SecretBatchTests {
  private let ann = Caller("ann")

  private func withFolder(_ body: (FolderSecrets, String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "bothy-batches-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }  // may not exist
    try await body(FolderSecrets(folder: path), path)
  }

  private func service(_ secrets: FolderSecrets) throws -> SyncService {
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, _ in Issue.record("the values are staged") }
    rules.secretVault = secrets
    rules.secretStaging = secrets
    return SyncService(storage: try SQLiteServerStorage(), rules: rules, now: { 1000 })
  }

  private func insert(_ id: String, secret: String) -> BothySync.SyncOperation {
    var operation = SyncOperation(id: "op-\(UUID())", kind: .insert, record: .note(id))
    operation.secrets = Secrets(["pw": secret])
    return operation
  }

  private func staged(_ path: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path + "/staged")) ?? []  // none before the first
  }

  /// The values by their records' ids, as the files in a space's folders have them.
  private func values(_ path: String) throws -> [String: String] {
    var found: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      guard name.hasSuffix(".secret"), !name.hasPrefix("staged/") else { continue }
      let document = try JSONValue(parsing: Array(Data(contentsOf: URL(filePath: "\(path)/\(name)"))))
      found[document["id"]?.stringValue ?? ""] = document["secret"]?.stringValue
    }
    return found
  }

  private func key(_ id: String) -> OperationKey { OperationKey(device: "d", operation: "of-\(id)") }

  private func batch(_ secrets: FolderSecrets, _ values: [String: String]) throws -> any StagedSecrets {
    try secrets.stage(
      space: "s",
      values.map {
        OperationSecrets(operation: "of-\($0)", outcome: key($0), record: .note($0), Secrets(["pw": $1]))
      })
  }

  /// Keeps values, and ends without a commit, as a process does that is killed. The lock ends with the object.
  private func kill(_ secrets: FolderSecrets, _ values: [String: String], keeping ids: [String]) throws {
    let batch = try batch(secrets, values)
    try batch.keep(Set(ids.map { "of-\($0)" }), upTo: 1)
  }

  private func commit(_ ids: [String], in service: SyncService) async throws {
    let outcomes = ids.map {
      Outcome(operation: "of-\($0)", .applied(version: "1", modified: 1, record: nil))
    }
    try await service.storage.write(space: "s") { try $0.remember(outcomes, device: "d", at: 1) }
  }

  @Test("Values of applied operations are in force, and those of others aren't", arguments: [3, 100])
  func applied(count: Int) async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      func send(_ operations: [BothySync.SyncOperation]) async throws -> [Outcome.Verdict] {
        let request = SyncRequest(device: "d", operations: operations)
        return try await service.sync(space: "s", user: ann, request).outcomes.map(\.verdict)
      }
      let names = (1...count).map { "n\($0)" }
      #expect(try await send(names.map { insert($0, secret: "first") }).allSatisfy(\.isApplied))
      let second = try await send([insert("n1", secret: "second"), insert("new", secret: "second")])
      #expect(second.map(\.isApplied) == [false, true])
      let expected = Dictionary(uniqueKeysWithValues: names.map { ($0, "first") } + [("new", "second")])
      #expect(try values(path) == expected)
      #expect(staged(path).isEmpty)
    }
  }

  @Test("A transaction that runs again with other verdicts keeps the values of these alone")
  func again() async throws {
    try await withFolder { secrets, path in
      try secrets.receive(space: "s", .note("b"), Secrets(["pw": "before"]))
      let batch = try batch(secrets, ["a": "1", "b": "1", "c": "1"])
      #expect(try values(path) == ["b": "before"])
      try batch.keep(["of-a", "of-b", "of-c"], upTo: 1)
      try secrets.receive(space: "s", .note("a"), Secrets(["pw": "between"]))
      try batch.keep(["of-a"], upTo: 1)
      #expect(try values(path) == ["a": "1", "b": "before"])
      try batch.undo(except: [])
      #expect(try values(path) == ["a": "between", "b": "before"])
      try batch.keep(["of-c"], upTo: 1)
      batch.finish()
      #expect(try values(path) == ["a": "between", "b": "before", "c": "1"])
      #expect(staged(path).isEmpty)
    }
  }

  @Test("After a crash the values of committed operations are in force")
  func committed() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      try kill(secrets, ["a": "1", "b": "1"], keeping: ["a", "b"])
      try await commit(["a", "b"], in: service)
      try secrets.receive(space: "s", .note("b"), Secrets(["pw": "2"]))
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "1", "b": "2"])
      #expect(staged(path).isEmpty)
    }
  }

  @Test("After a crash before the commit the values are as they were")
  func notCommitted() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      try secrets.receive(space: "s", .note("a"), Secrets(["pw": "before"]))
      try kill(secrets, ["a": "1", "new": "1", "c": "1"], keeping: ["a", "new", "c"])
      try secrets.receive(space: "s", .note("c"), Secrets(["pw": "later"]))
      #expect(try values(path) == ["a": "1", "new": "1", "c": "later"])
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "before", "c": "later"])
      #expect(staged(path).isEmpty)
    }
  }

  @Test("Two requests that were killed one after the other are both undone")
  func stacked() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      try secrets.receive(space: "s", .note("a"), Secrets(["pw": "before"]))
      try kill(secrets, ["a": "1"], keeping: ["a"])
      let second = try batch(secrets, ["a": "2"])
      try second.keep(["of-a"], upTo: 2)
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "2"])
      #expect(staged(path).count == 2)
      try second.undo(except: [])
      second.finish()
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "before"])
      #expect(staged(path).isEmpty)
    }
  }

  @Test("A committed value that a crash of the system has lost is written again")
  func lost() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      try kill(secrets, ["a": "1", "gone": "1"], keeping: ["a", "gone"])
      try await commit(["a", "gone"], in: service)
      let record = ServerRecord(id: .note("a"), version: "1", modified: 1)
      try await service.storage.write(space: "s") { try $0.put([StoredRecord(position: 1, record: record)]) }
      for id in ["a", "gone"] { try secrets.remove(space: "s", .note(id)) }
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "1"])
    }
  }

  @Test("A running process keeps its batch, and unkept ones of others are deleted")
  func locked() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      let live = try batch(secrets, ["a": "1"])
      _ = try batch(secrets, ["b": "1"])
      #expect(staged(path).count == 2)
      try await service.recoverSecrets()
      #expect(staged(path).count == 1)
      try live.keep(["of-a"], upTo: 1)
      try await service.recoverSecrets()
      #expect(try values(path) == ["a": "1"])
      live.finish()
      #expect(staged(path).isEmpty)
    }
  }

  @Test("Staged values go with their space")
  func space() async throws {
    try await withFolder { secrets, path in
      let live = try batch(secrets, ["a": "1"])
      try secrets.remove(space: "other")
      #expect(staged(path).count == 1)
      try secrets.remove(space: "s")
      #expect(try staged(path).isEmpty && values(path).isEmpty)
      live.finish()
    }
  }

  @Test("A record deleted and inserted in one request has only the new values")
  func remade() async throws {
    try await withFolder { secrets, path in
      let service = try service(secrets)
      func send(_ operations: [BothySync.SyncOperation]) async throws -> [Bool] {
        let request = SyncRequest(device: "d", operations: operations)
        return try await service.sync(space: "s", user: ann, request).outcomes.map(\.verdict.isApplied)
      }
      var first = insert("a", secret: "before")
      first.secrets = Secrets(["pw": "before", "pin": "before"])
      #expect(try await send([first]) == [true])
      let deletion = SyncOperation(id: "op-\(UUID())", kind: .delete, record: .note("a"), base: "1")
      #expect(try await send([deletion, insert("a", secret: "after")]) == [true, true])
      #expect(try values(path) == ["a": "after"])
      #expect(staged(path).isEmpty)
      let again = SyncOperation(id: "op-\(UUID())", kind: .delete, record: .note("a"), base: "3")
      let plain = SyncOperation(id: "op-\(UUID())", kind: .insert, record: .note("a"))
      #expect(try await send([again, plain]) == [true, true])
      #expect(try values(path).isEmpty)
    }
  }

  @Test("An update that clears a sensitive field removes its value", arguments: [true, false])
  func cleared(byRoute: Bool) async throws {
    try await withFolder { secrets, path in
      var service = try service(secrets)
      service.rules.schema = StoreSchema(
        version: 1,
        types: [
          TypeSchema(
            RecordID.note("a").type, fields: [FieldSchema("pw", .text, optional: true, sensitive: true)])
        ])
      let first = SyncRequest(device: "d", operations: [insert("a", secret: "word")])
      _ = try await service.sync(space: "s", user: ann, first)
      #expect(try values(path) == ["a": "word"])
      let clearing = SyncOperation(
        id: "op-\(UUID())", kind: .update, record: .note("a"), base: "1", fields: ["pw": .null])
      if byRoute {
        _ = try await service.perform(space: "s", user: ann, clearing)
      } else {
        let request = SyncRequest(device: "d", operations: [clearing])
        _ = try await service.sync(space: "s", user: ann, request)
      }
      #expect(try values(path).isEmpty)
      #expect(staged(path).isEmpty)
    }
  }
}
