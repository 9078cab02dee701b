import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// A complete snapshot whose response arrives late: records that the server sent since are newer.
@Suite("Late snapshots", .timeLimit(.minutes(5)))
struct LateSnapshotTests {
  /// Runs `body` once, after the server has answered the device's next request and before the response arrives.
  private func during(_ device: SimulatedDevice, _ body: @escaping @Sendable () async throws -> Void) {
    let calls = Calls()
    device.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { try await body() } catch { Issue.record(error) }
    }
  }

  @Test("A record that the server accepted during the first pull stays")
  func firstPull() async throws {
    let pair = try await Pair.sharing()
    let device = try pair.world.addDevice("c", schema: .notes)
    let store = device.store
    during(device) {
      let result = try await store.save(Note(id: "T9", "mine"), policy: .local).result(within: .seconds(1000))
      #expect(result.origin == .remote)
    }
    await store.sync()
    #expect(try device.note("T9")?.title == "mine")
    #expect(try device.note("T1")?.title == "start")
  }

  @Test("A record that the server accepted while a purged container was pulled stays")
  func purged() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let store = pair.a.store
    _ = try store.purge(container: "Note")
    during(pair.a) {
      _ = try await store.save(Note(id: "T9", "mine"), policy: .local).result(within: .seconds(1000))
    }
    await store.sync()
    #expect(try pair.a.note("T9")?.title == "mine")
    #expect(try pair.a.noteIDs() == ["T1", "T2", "T9"])
  }
}
