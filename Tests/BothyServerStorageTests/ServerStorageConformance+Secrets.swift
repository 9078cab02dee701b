import BothyStore
import BothySync
import BothySyncService
import Foundation
import Synchronization
import Testing

/// The checks of staged values of sensitive fields, which are kept within a transaction of the storage.
extension ServerStorageConformance {
  /// Notes the calls that it gets.
  private final class NotedStaging: SecretStaging, StagedSecrets {
    private let noted = Mutex<[String]>([])
    private let staged = Mutex<[OperationSecrets]>([])
    private let chosen = Mutex<[OperationSecrets]>([])
    private let fails: Bool
    var calls: [String] { noted.withLock { $0 } }

    init(fails: Bool = false) { self.fails = fails }

    func stage(space: String, _ secrets: [OperationSecrets]) -> any StagedSecrets {
      staged.withLock { $0 = secrets }
      noted.withLock { $0.append("stage " + secrets.map(\.operation).joined(separator: " ")) }
      return self
    }

    let space = "s"
    var kept: [OperationKey] { chosen.withLock { $0.map(\.outcome) } }
    var records: [RecordID] { chosen.withLock { $0.map(\.record) } }

    func abandoned() -> [any StagedSecrets] { [] }
    func remove(space: String, _ record: RecordID, fields: [String]) {}

    func undo(except applied: Set<OperationKey>) {
      noted.withLock { $0.append("undo \(kept.filter { !applied.contains($0) }.count)") }
    }

    func complete(_ applied: Set<OperationKey>, _ positions: [RecordID: Int64]) {
      noted.withLock { $0.append("complete \(applied.count) of \(positions.count)") }
    }

    func keep(_ operations: Set<String>, upTo head: Int64) throws {
      chosen.withLock { all in all = staged.withLock { $0 }.filter { operations.contains($0.operation) } }
      noted.withLock { $0.append("keep " + operations.sorted().joined(separator: " ")) }
      if fails { throw Broken() }
    }

    func finish() { noted.withLock { $0.append("finish") } }
  }

  private static func send(
    _ ids: [String], to storage: any ServerStorage, _ staging: NotedStaging
  ) async throws -> [Bool] {
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, _ in throw Broken() }
    rules.secretStaging = staging
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    let operations = ids.map { id in
      var operation = SyncOperation(id: "op-\(id)", kind: .insert, record: .note(id))
      operation.secrets = Secrets(["pw": "word"])
      return operation
    }
    let request = SyncRequest(device: "d", operations: operations)
    return try await service.sync(space: "s", user: Caller("ann"), request).outcomes.map(
      \.verdict.isApplied)
  }

  static let secretChecks: [Check] = [
    Check("Values of sensitive fields are staged first, and kept for applied operations alone") { storage in
      try await storage.write(space: "s") { try $0.put([entry(1, "taken")]) }
      let staging = NotedStaging()
      #expect(try await send(["a", "taken", "b"], to: storage, staging) == [true, false, true])
      #expect(staging.calls == ["stage op-a op-taken op-b", "keep op-a op-b", "finish"])
    },
    Check("Values that can't be kept leave the space as it was") { storage in
      let staging = NotedStaging(fails: true)
      await #expect(throws: (any Error).self) { try await send(["a"], to: storage, staging) }
      #expect(staging.calls == ["stage op-a", "keep op-a", "undo 1", "complete 0 of 0", "finish"])
      let found = try await storage.read(space: "s") { try $0.records([.note("a")]) }
      #expect(found.isEmpty)
    },
    Check("Staged values of a crash are judged by the outcomes in the storage") { storage in
      let path = NSTemporaryDirectory() + "bothy-settled-" + UUID().uuidString
      defer { try? FileManager.default.removeItem(atPath: path) }  // may not exist
      let secrets = FolderSecrets(folder: path)
      func stage(_ id: String) throws {
        let staged = try secrets.stage(
          space: "s",
          [
            OperationSecrets(
              operation: id, outcome: OperationKey(device: "d", operation: id), record: .note(id),
              Secrets(["pw": "word"]))
          ])
        try staged.keep([id], upTo: 1)
      }
      try stage("a")
      try stage("b")
      try await storage.write(space: "s") { storage in
        try storage.put([entry(1, "a")])
        let applied = Outcome.Verdict.applied(version: "1", modified: 1, record: nil)
        try storage.remember([Outcome(operation: "a", applied)], device: "d", at: 1)
      }
      var rules = AccessRules()
      rules.secretStaging = secrets
      try await SyncService(storage: storage, rules: rules, now: { 1000 }).recoverSecrets()
      #expect(try secrets.records(of: "s") == [.note("a")])
    },
  ]
}
