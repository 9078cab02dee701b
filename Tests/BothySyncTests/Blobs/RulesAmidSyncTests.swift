import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Network rules that change amid a sync", .timeLimit(.minutes(5)))
struct RulesAmidSyncTests {
  @Test("A type that is held back amid a sync is sent no further")
  func changes() async throws {
    let pair = try SnapPair { $0.batchSize = 1 }
    let (store, calls) = (pair.a.store, Calls())
    await store.sync()
    for id in ["1", "2", "3"] { try await store.save(Snap(id)) }
    pair.a.remote.setDuringExchange {
      if calls.add() == 1 { store.options.network = NetworkRules(heldTypes: [Snap.self]) }
    }
    #expect(await store.sync().pushed == 1)
    store.options.network = .any
    #expect(await store.sync().pushed == 2)
  }

  @Test("An upload stops before its next part when its type is held back")
  func upload() async throws {
    let pair = try SnapPair()
    let (store, calls) = (pair.a.store, Calls())
    await store.sync()
    try await pair.a.snap("1", picture())
    pair.a.remote.setAfterBlobs { request in
      guard case .upload(_, 10) = request, calls.add() == 1 else { return }
      store.options.network = NetworkRules(heldTypes: [Snap.self])
    }
    let held = await store.sync()
    #expect(held.obstacle == nil && held.pushed == 0)
    #expect(pair.a.uploads == [0, 10])
    store.options.network = .any
    #expect(await store.sync().pushed == 1)
    #expect(pair.a.uploads == [0, 10, 20, 30, 40])
  }
}
