import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Counters on several devices, while the server's responses are lost.
@Suite("Lost acknowledgements", .faultsStrike, .timeLimit(.minutes(15)))
struct LostAcknowledgementTests {
  private static let counters = 50

  /// The minimum number of lost acknowledgements, from `BOTHY_LOST_ACKS`.
  ///
  /// `scripts/soak --lost-acks 100000` sets the variable.
  private static let wanted =
    ProcessInfo.processInfo.environment["BOTHY_LOST_ACKS"].flatMap { Int($0) } ?? 1000

  /// Promises: Scenario-2, H-30, H-31
  @Test("Counters count exactly once, however many acknowledgements are lost")
  func counters() async throws {
    let pair = try await Pair.sharing((0..<Self.counters).map { "c\($0)" }, policy: .fieldByField)
    var lost = 0
    var rounds = 0
    while lost < Self.wanted {
      rounds += 1
      for device in [pair.a, pair.b] {
        try device.change { transaction in
          for number in 0..<Self.counters {
            _ = try transaction.update(Note.self, id: "c\(number)") { $0.score += 1 }
          }
        }
        device.remote.forgetRequests()
        // The first response is lost. In every third round the response to the repetition is lost too.
        let calls = Calls()
        let losses = rounds.isMultiple(of: 3) ? 2 : 1
        device.remote.plan { calls.add() <= losses ? .lostAnswer : .none }
        for _ in 0...losses { await device.store.sync() }
        lost += device.remote.requests.prefix(losses).map(\.operations.count).reduce(0, +)
      }
    }
    #expect(try await pair.isEven())
    let server = try await pair.world.snapshot().server
    for number in 0..<Self.counters {
      #expect(server[.note("c\(number)")]?["score"] == .int(Int64(2 * rounds)))
    }
    print(
      "\(lost) acknowledgements lost in \(rounds) rounds of two devices; every counter is at \(2 * rounds).")
  }

  /// Promises: H-30, H-32
  @Test("Records are inserted and deleted exactly once when responses are lost or late")
  func insertsAndDeletions() async throws {
    let pair = try Pair()
    let calls = Calls()
    let faults: [FaultyRemote.Fault] = [.lostAnswer, .duplicated, .late, .none]
    pair.a.remote.plan { faults[calls.add() % 4] }
    for number in 0..<60 {
      try pair.a.insert("N\(number)", "new")
      await pair.a.store.sync()
      if number >= 10 { try pair.a.remove("N\(number - 10)") }
      await pair.a.store.sync()
    }
    pair.a.remote.setScript { .none }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    let ids = try await pair.world.snapshot().server.keys.map(\.id).sorted()
    #expect(ids == (50..<60).map { "N\($0)" })
  }
}
