import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

/// Transfers on many devices. No reader ever sees half of one.
@Suite("Bank transfers on many devices", .timeLimit(.minutes(minutesForSeeds)))
struct Scenario06Bank {
  /// The seeds of the histories: `BOTHY_SEEDS` sets their number, `BOTHY_SEED` chooses a single one.
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_SEEDS"].flatMap { UInt64($0) } ?? 150))
  }()

  /// Promises: Scenario-6
  @Test(
    "No reader and no server sees a part of a transfer, despite restarts"
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
