import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

@Suite("Convergence", .timeLimit(.minutes(minutesForSeeds)))
struct ConvergenceTests {
  /// `BOTHY_SEEDS` sets the number of histories, and `BOTHY_SEED` runs a single one.
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_SEEDS"].flatMap { UInt64($0) } ?? 200))
  }()

  /// Promises: H-68, S-50, N-44, Scenario-1
  @Test("Four devices converge with the server after losses, repetitions and restarts")
  func histories() async throws {
    for seed in Self.seeds {
      var history = try History(seed: seed)
      let problems = try await history.run()
      guard problems.isEmpty else {
        Issue.record("Seed \(seed): \(problems.joined(separator: "; ")). Replay with BOTHY_SEED=\(seed).")
        return
      }
    }
  }
}
