import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

@Suite("Observers of versions", .timeLimit(.minutes(5)))
struct ObservedVersionTests {
  final class Seen: Sendable { let all = Mutex<[[String]]>([]) }

  private func watch(_ d: SimulatedDevice, _ query: AnyQuery) -> (Seen, Task<Void, any Error>) {
    let seen = Seen()
    let store = d.store.store
    let task = Task {
      for try await records in store.values(of: query) {
        seen.all.withLock {
          $0.append(
            records.map {
              "\($0.id) v\($0.version ?? "nil") \($0.metadata.modified?.timeIntervalSince1970 ?? 0)"
            })
        }
      }
    }
    return (seen, task)
  }
  /// Waits until the last value that was observed is the expected one.
  private func last(_ seen: Seen, is expected: [String]) async throws {
    try await until { seen.all.withLock { $0.last } == expected }
  }

  private func now(_ d: SimulatedDevice, _ query: AnyQuery) throws -> [String] {
    try d.records(query).map {
      "\($0.id) v\($0.version ?? "nil") \($0.metadata.modified?.timeIntervalSince1970 ?? 0)"
    }
  }

  @Test("An observer sees the version that an acknowledgement brings", arguments: ["tester", nil])
  func theAnswerIsTheFiles(name: String?) async throws {
    let world = try SimulatedWorld()
    let a = try world.addDevice("a", schema: memo(1), user: name.map { Caller($0) } ?? Caller(nil))
    await a.store.sync()
    let all = AnyQuery("Memo")
    let unsent = AnyQuery("Memo", where: .compare(field: "version", .equal, .null))
    let (seen, task) = watch(a, all)
    let (seenUnsent, other) = watch(a, unsent)
    defer { task.cancel(); other.cancel() }
    try a.put("Memo", "1", ["title": .text("one")])
    try await last(seen, is: now(a, all))
    await a.store.sync()
    try await last(seen, is: now(a, all))
    #expect(try now(a, unsent).isEmpty)
    try await last(seenUnsent, is: [])
    world.time.advance(by: 60_000)
    try a.set("Memo", "1", ["title": .text("two")])
    try await last(seen, is: now(a, all))
    await a.store.sync()
    try await last(seen, is: now(a, all))
  }

  @Test("An observer sees metadata that alone has changed")
  func ofMetadataAlone() async throws {
    let world = try SimulatedWorld()
    let a = try world.addDevice("a", schema: memo(1), skew: 3_600_000)
    let b = try world.addDevice("b", schema: memo(1))
    try b.put("Memo", "1", ["title": .text("one")])
    await b.store.sync()
    await a.store.sync()
    let all = AnyQuery("Memo")
    let (seen, task) = watch(a, all)
    defer { task.cancel() }
    try await b.store.sharing.share(RecordID(type: "Memo", id: "1"), with: .users("x"))
    world.time.advance(by: 60_000)
    await b.store.sync()
    await a.store.sync()
    try await last(seen, is: now(a, all))
  }
}

extension SimulatedDevice {
  func records(_ query: AnyQuery) throws -> [AnyRecord] { try store.store.fetch(query) }
}
