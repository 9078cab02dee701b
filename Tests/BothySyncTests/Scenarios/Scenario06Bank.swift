import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

/// Scenario 6: transfers on many devices; nobody ever sees half of one.
@Suite("Scenario 6", .timeLimit(.minutes(minutesForSeeds)))
struct Scenario06Bank {
  /// `BOTHY_SEEDS` sets how many histories are run, `BOTHY_SEED` runs one alone.
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_SEEDS"].flatMap { UInt64($0) } ?? 150))
  }()

  /// Promises: Scenario-6
  @Test(
    "Scenario 6: transfers on many devices under loss and restarts; no reader and no server ever sees a part of one"
  )
  func bank() async throws {
    for seed in Self.seeds {
      var history = try BankHistory(seed: seed)
      let problems = try await history.run()
      guard problems.isEmpty else {
        Issue.record(
          "Seed \(seed): \(problems.prefix(5).joined(separator: "; ")). Replay with BOTHY_SEED=\(seed).")
        return
      }
    }
  }
}
