import BothySyncService
import Logging
import ServiceLifecycle

/// Keeps the server's files from growing for ever. It looks after the spaces that are due, and deletes uploads that were
/// never finished or named.
///
/// Several processes share this work by the storage's list of due spaces and by the vault.
struct Upkeep: Service {
  private let rounds: UpkeepRounds
  private let pace: UpkeepPace

  init(_ rulebook: Rulebook, _ configuration: ServerConfiguration, _ metrics: ServerMetrics) {
    pace = UpkeepPace(interval: configuration.upkeep.interval)
    rounds = UpkeepRounds(
      { rulebook.service }, configuration, metrics: metrics.registry, pace: pace,
      looked: { metrics.upkeepEnded(at: $0) })
  }

  func run() async throws {
    // Processes that were started together spread out.
    try await repeating(after: pace.wait) { try await rounds.work() }
  }
}

/// The pace of one process's upkeep.
package struct UpkeepPace: Sendable {
  /// The number of spaces that are taken at a time.
  package var batch = 16
  /// The most spaces in a second.
  package var perSecond = 100
  /// The time for which spaces are taken, in milliseconds. Another process looks after those of a process that crashed
  /// when it is over.
  package var lease: Int64 = 900_000
  /// The mean time between two looks at the list.
  package var poll: Duration

  /// - Parameter interval: the least time between two upkeeps of a space, in milliseconds.
  package init(interval: Int64) { poll = .milliseconds(min(max(interval / 4, 1000), 60_000)) }

  /// Returns a random time around `poll`.
  package func wait() -> Duration { poll * Double.random(in: 0.5...1.5) }
}
