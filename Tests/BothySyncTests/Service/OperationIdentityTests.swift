import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

@Suite("Identity and owner of an operation", .timeLimit(.minutes(5)))
struct OperationIdentityTests {
  private let ann = Caller("ann")
  private let bob = Caller("bob")

  /// The sensitive values that a server received.
  private final class Taken: Sendable {
    private let taken = Mutex<[String]>([])
    var all: [String] { taken.withLock { $0 } }

    func rules() -> AccessRules {
      var rules = AccessRules()
      rules.receiveSecrets = { _, record, secrets in
        self.taken.withLock { $0.append("\(record.id)=\(secrets.values["pw"] ?? "")") }
      }
      return rules
    }
  }

  private func service(_ rules: AccessRules = AccessRules()) throws -> (
    SyncService, SQLiteServerStorage
  ) {
    let storage = try SQLiteServerStorage()
    return (SyncService(storage: storage, rules: rules, now: { 1000 }), storage)
  }

  private func insert(_ record: String, id: String = "op-1") -> BothySync.SyncOperation {
    SyncOperation(
      id: id, kind: .insert, record: .note(record), fields: ["title": .string("text of \(record)")])
  }

  private func verdict(
    _ service: SyncService, _ user: Caller, _ operation: BothySync.SyncOperation,
    device: String = "d1"
  ) async throws -> Outcome.Verdict? {
    let request = SyncRequest(device: device, operations: [operation])
    return try await service.sync(space: "s", user: user, request).outcomes.first?.verdict
  }

  @Test("A known operation id writes no secret of another record")
  func secretsOfOthers() async throws {
    let taken = Taken()
    let (service, _) = try service(taken.rules())
    _ = try await verdict(service, ann, insert("victim", id: "of-ann"))
    _ = try await verdict(service, bob, insert("mine"), device: "d2")
    var attack = SyncOperation(id: "op-1", kind: .update, record: .note("victim"))
    attack.secrets = Secrets(["pw": "MARKER"])
    guard case .conflict = try await verdict(service, bob, attack, device: "d2") else {
      Issue.record("it is judged for itself, and has no base")
      return
    }
    #expect(taken.all.isEmpty)
  }

  @Test("A repetition of an operation delivers no secret again")
  func repetition() async throws {
    let taken = Taken()
    let (service, _) = try service(taken.rules())
    var operation = insert("mine")
    operation.secrets = Secrets(["pw": "first"])
    _ = try await verdict(service, ann, operation)
    operation.secrets = Secrets(["pw": "second"])
    guard case .duplicate = try await verdict(service, ann, operation) else {
      Issue.record("secrets are no part of what the operation asks")
      return
    }
    #expect(taken.all == ["mine=first"])
  }

  @Test("A migrated operation in doubt is recognized and creates nothing again")
  func rewritten() async throws {
    let (service, storage) = try service()
    let sent = SyncOperation(id: "op-1", kind: .insert, record: .note("a"), fields: ["title": "one"])
    _ = try await verdict(service, ann, sent)
    let rewritten = SyncOperation(
      id: "op-1", kind: .insert, record: RecordID(type: "Card", id: "a"), fields: ["heading": "one"])
    let known = Outcome.Verdict.duplicate(version: "1", modified: 1000, record: nil)
    #expect(try await verdict(service, ann, rewritten) == known)
    _ = try await verdict(
      service, ann, SyncOperation(id: "op-2", kind: .delete, record: .note("a"), base: "1"))
    #expect(try await verdict(service, ann, sent) == known)
    #expect(try await storage.statistics(of: "s").records == 0)
  }

  @Test("A rewritten operation that hadn't arrived is applied in its new form")
  func rewrittenUnseen() async throws {
    let (service, storage) = try service()
    let rewritten = SyncOperation(
      id: "op-1", kind: .insert, record: RecordID(type: "Card", id: "a"), fields: ["heading": "one"])
    guard case .applied = try await verdict(service, ann, rewritten) else {
      Issue.record("nothing was known of it")
      return
    }
    // The first copy arrives late, as a repetition.
    let late = SyncOperation(id: "op-1", kind: .insert, record: .note("a"), fields: ["title": "one"])
    guard case .duplicate = try await verdict(service, ann, late) else {
      Issue.record("it is the same operation")
      return
    }
    #expect(try await storage.statistics(of: "s").records == 1)
  }

  @Test("A verdict is sent only to the user that first received it")
  func outcomesOfOthers() async throws {
    var schema = StoreSchema(types: [
      TypeSchema("Note", fields: [FieldSchema("title", .text, optional: true)])
    ])
    schema.types[0].permissions = Permissions(read: .owner, update: .owner, delete: .owner)
    // A default makes the server return the record.
    schema.types[0].fields.append(FieldSchema("extra", .text, optional: true, default: "made by the server"))
    let (service, _) = try service(AccessRules(schema: schema))
    guard case .applied(_, _, .some) = try await verdict(service, ann, insert("private")) else {
      Issue.record("the first answer has the record")
      return
    }
    let answer = try await verdict(service, bob, insert("private"))
    guard case .rejected(let rejection) = answer else {
      Issue.record("\(String(describing: answer))")
      return
    }
    #expect(rejection.code == "forbidden")
    guard case .duplicate(_, _, .some) = try await verdict(service, ann, insert("private")) else {
      Issue.record("the user itself is told again")
      return
    }
  }

  @Test("A user can't make the server forget another user's verdicts")
  func forgetting() async throws {
    let storage = try SQLiteServerStorage()
    let time = VirtualTime()
    let service = SyncService(storage: storage, now: time.reader())
    _ = try await verdict(service, ann, insert("a"))
    time.advance(by: 1_000_000)
    let request = SyncRequest(device: "d1", oldestOpen: "z")
    _ = try await service.sync(space: "s", user: bob, request)
    guard case .duplicate = try await verdict(service, ann, insert("a")) else {
      Issue.record("it is remembered")
      return
    }
    // The repetition has renewed the time for which the verdict is remembered.
    time.advance(by: 1_000_000)
    _ = try await service.sync(space: "s", user: ann, request)
    #expect(try await storage.statistics(of: "s").outcomes == 0)
  }

  @Test("A verdict from before verdicts had owners is known, and reveals no content")
  func former() async throws {
    let (service, storage) = try service()
    let record = ServerRecord(id: .note("old"), version: "7", modified: 5)
    let applied = Outcome.Verdict.applied(version: "7", modified: 5, record: record)
    try await storage.write(space: "s") {
      try $0.remember([Outcome(operation: "op-1", applied)], device: "d1", at: 1)
    }
    for _ in 1...2 {
      let answer = try await verdict(service, ann, insert("old"))
      #expect(answer == .duplicate(version: "7", modified: 5, record: nil))
    }
    #expect(try await storage.statistics(of: "s").outcomes == 1, "it is not taken over without its record")
    #expect(try await storage.statistics(of: "s").records == 0, "it was not made again")
  }

  @Test("Times before 1970 or after the server's now are clamped")
  func times() async throws {
    let (service, storage) = try service()
    for (number, (sent, kept)) in [(Int64.min, Int64(0)), (-1, 0), (.max, 1000), (5, 5)].enumerated() {
      var operation = insert("t\(number)", id: "t\(number)")
      operation.modified = sent
      _ = try await verdict(service, ann, operation)
      let found = try await storage.read(space: "s") { try $0.records([.note("t\(number)")]) }
      #expect(found.values.first?.record.modified == kept)
    }
  }

  // MARK: secrets go

  private func withFolder(_ body: (FolderSecrets, String) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("secrets")
    try await body(FolderSecrets(folder: path), path)
  }

  @Test("The secrets of a deleted record are deleted, and a new record's are kept", arguments: [true, false])
  func deleted(byRoute: Bool) async throws {
    try await withFolder { secrets, _ in
      var rules = AccessRules()
      rules.receiveSecrets = { try secrets.receive(space: $0, $1, $2) }
      rules.secretVault = secrets
      let (service, _) = try service(rules)
      var operation = insert("a")
      operation.secrets = Secrets(["pw": "word"])
      _ = try await verdict(service, ann, operation)
      #expect(secrets.holds(space: "s", .note("a")))
      let deletion = SyncOperation(id: "op-2", kind: .delete, record: .note("a"), base: "1")
      if byRoute {
        _ = try await service.perform(space: "s", user: ann, deletion)
      } else {
        _ = try await verdict(service, ann, deletion)
      }
      #expect(!secrets.holds(space: "s", .note("a")))
      operation.id = "op-3"
      _ = try await verdict(service, ann, operation)
      _ = try await service.upkeep(space: "s", RetentionPolicy())
      #expect(secrets.holds(space: "s", .note("a")), "the record is there")
    }
  }

  @Test("Upkeep deletes secrets whose record is gone")
  func swept() async throws {
    try await withFolder { secrets, _ in
      var rules = AccessRules()
      rules.secretVault = secrets
      let (service, _) = try service(rules)
      try secrets.receive(space: "s", .note("never"), Secrets(["pw": "word"]))
      _ = try await service.upkeep(space: "s", RetentionPolicy())
      #expect(try secrets.records(of: "s").isEmpty)
    }
  }

  @Test("Spaces and types with slashes in their names have separate secrets")
  func slashes() async throws {
    try await withFolder { secrets, path in
      let (one, other) = (RecordID(type: "b/T", id: "x"), RecordID(type: "T", id: "x"))
      try secrets.receive(space: "a", one, Secrets(["pw": "1"]))
      #expect(!secrets.holds(space: "a/b", other))
      try secrets.receive(space: "a/b", other, Secrets(["pw": "2"]))
      try secrets.remove(space: "a/b")
      #expect(secrets.holds(space: "a", one) && !secrets.holds(space: "a/b", other))
      // The form in which an earlier version stored them.
      let former = FileSecretStore(folder: path)
      try former.set("3", for: SecretKey(RecordID(type: "a/Old", id: "y"), field: "pw"))
      try secrets.adopt(spaces: ["a", "c"])
      #expect(secrets.holds(space: "a", RecordID(type: "Old", id: "y")))
      #expect(try former.keys().isEmpty)
    }
  }
}
