import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

/// Checks that the judge of the wide histories notices each kind of loss.
@Suite("The judge of wide histories", .timeLimit(.minutes(5)))
struct WideJudgeTests {
  private func history(_ steps: [WideHistory.Step], _ policy: WideHistory.Policy = .fieldByField)
    -> WideHistory
  {
    WideHistory(seed: 1, devices: [.init(policy: policy), .init(policy: policy)], steps: steps)
  }

  private func act(_ what: WideHistory.What) -> WideHistory.Act { .init(what: what, record: 0) }

  /// Two devices that share one record.
  private var shared: [WideHistory.Step] {
    [
      .write(0, act(.create)), .sync(0, .both, [], during: nil), .sync(1, .both, [], during: nil),
    ]
  }

  /// Runs the steps, applies a fault that no step has, and returns the problems that the judge finds.
  private func problems(
    _ steps: [WideHistory.Step], then: (WideRunner) async throws -> Void
  ) async throws -> [String] {
    let runner = try await WideRunner(history(steps))
    #expect(try await runner.steps().isEmpty)
    try await then(runner)
    return try await runner.end()
  }

  private func answer(_ operation: BothySync.SyncOperation, version: String) -> (SyncRequest, SyncResponse) {
    var response = SyncResponse(serverTime: 0)
    response.outcomes = [
      Outcome(operation: operation.id, .applied(version: version, modified: 0, record: nil))
    ]
    return (SyncRequest(device: "x", operations: [operation]), response)
  }

  @Test("Without a fault no problem is reported")
  func calm() async throws {
    #expect(try await problems(shared) { _ in } == [])
  }

  @Test("Unsent work that vanishes is noticed")
  func vanished() async throws {
    let found = try await problems(shared + [.write(1, act(.title))]) { runner in
      try runner.device(1).store.purge(Sheet.record("r0"), includingPending: true)
    }
    #expect(found.contains { $0.hasPrefix("Lost in silence: title-1-1") }, "\(found)")
  }

  @Test("A deletion that vanishes is noticed")
  func undone() async throws {
    let found = try await problems(shared + [.write(1, act(.delete))]) { runner in
      try runner.device(1).store.resolve(Sheet.record("r0"), .keepLocal)
    }
    #expect(found.contains { $0.hasPrefix("Lost in silence: the deletion") }, "\(found)")
  }

  @Test("A change of the server that no person made is noticed", arguments: ["other", "title-0-0"])
  func unasked(title: String) async throws {
    let found = try await problems(shared + [.write(0, act(.title)), .sync(0, .both, [], during: nil)]) {
      runner in
      let operation = BothySync.SyncOperation(
        id: "x", kind: .update, record: Sheet.record("r0"), base: "2", fields: ["title": .string(title)])
      let (request, response) = answer(operation, version: "3")
      runner.intent.follow(request, response, from: 0)
    }
    let word = title == "other" ? "Nobody wrote" : "An old text came back"
    #expect(found.contains { $0.hasPrefix(word) }, "\(found)")
  }

  @Test("A text may return once after a restore, but not over another text")
  func givenBack() async throws {
    let found = try await problems(shared + [.epoch]) { runner in
      for (version, title) in [("2", JSONValue.null), ("3", "title-0-0"), ("4", .null), ("5", "title-0-0")] {
        let operation = BothySync.SyncOperation(
          id: version, kind: .update, record: Sheet.record("r0"), base: "1", fields: ["title": title])
        let (request, response) = answer(operation, version: version)
        runner.intent.follow(request, response, from: 0)
      }
    }
    #expect(found.count { $0.hasPrefix("An old text came back") } == 1, "\(found)")
  }

  @Test("An edit that replaces content unseen by its writer is noticed")
  func unseen() async throws {
    let steps =
      shared + [
        .write(1, act(.title)), .write(0, act(.title)), .sync(0, .both, [], during: nil),
      ]
    let found = try await problems(steps) { runner in
      let operation = BothySync.SyncOperation(
        id: "x", kind: .update, record: Sheet.record("r0"), base: "2", fields: ["title": "title-1-1"])
      let (request, response) = answer(operation, version: "3")
      runner.intent.follow(request, response, from: 1)
    }
    #expect(found.contains { $0.hasPrefix("Written over unseen") }, "\(found)")
  }

  @Test("A deletion of unseen content and a return from it are noticed")
  func deletionsAndReturns() async throws {
    let found = try await problems(shared) { runner in
      let deletion = BothySync.SyncOperation(id: "x", kind: .delete, record: Sheet.record("r0"), base: "1")
      let (request, response) = answer(deletion, version: "2")
      runner.intent.follow(request, response, from: 1)
      let insert = BothySync.SyncOperation(
        id: "y", kind: .insert, record: Sheet.record("r0"), fields: ["title": "title-0-0"])
      let (again, reply) = answer(insert, version: "3")
      runner.intent.follow(again, reply, from: 1)
    }
    #expect(found.contains { $0.hasPrefix("Deleted by nobody") }, "\(found)")
    #expect(found.contains { $0.hasPrefix("Came back by itself") }, "\(found)")
  }

  @Test("An operation that is carried out twice is noticed")
  func twice() async throws {
    let found = try await problems(shared) { runner in
      let operation = BothySync.SyncOperation(id: "x", kind: .update, record: Sheet.record("r0"), base: "1")
      let (request, response) = answer(operation, version: "1")
      runner.intent.follow(request, response, from: 0)
      runner.intent.follow(request, response, from: 0)
    }
    #expect(found.contains { $0.hasPrefix("Done twice") }, "\(found)")
  }

  @Test("Bytes that vanish before they are sent, and after, are noticed")
  func bytes() async throws {
    let unsent = try await problems(shared + [.write(1, act(.attach))]) { runner in
      try FileManager.default.removeItem(atPath: runner.device(1).path + "-blobs")
    }
    #expect(unsent.contains { $0.hasPrefix("Lost in silence") || $0.contains("still has") }, "\(unsent)")
    let sent = try await problems(shared + [.write(1, act(.attach)), .sync(1, .both, [], during: nil)]) {
      runner in
      let vault = URL(fileURLWithPath: runner.device(1).path).deletingLastPathComponent().path + "/vault"
      for folder in [vault, runner.device(1).path + "-blobs"] {
        try FileManager.default.removeItem(atPath: folder)
      }
    }
    #expect(sent.contains { $0.contains("lost the file 'bytes 1 of device 1'") }, "\(sent)")
  }

  @Test("A record on one device alone is noticed")
  func ghost() async throws {
    let found = try await problems(shared) { runner in
      try runner.device(0).store.store.write { try $0.insert(Sheet(id: "ghost")) }
      try runner.device(0).store.resolve(Sheet.record("ghost"), .keepLocal)
    }
    #expect(found.contains { $0.contains("ghost") && $0.contains("which the server has not") }, "\(found)")
  }
}
