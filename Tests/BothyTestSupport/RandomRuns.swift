import Foundation

/// The number of random runs of tests of properties. `BOTHY_TIMES=10` makes ten times as many.
package enum RandomRuns {
  private static let times = ProcessInfo.processInfo.environment["BOTHY_TIMES"].flatMap { Int($0) } ?? 1

  /// Returns the number of runs of a test that makes `usual` of them.
  package static func count(_ usual: Int) -> Int { usual * max(1, times) }

  /// Returns the seeds of a test that makes `usual` runs.
  package static func seeds(_ usual: Int, from first: UInt64 = 0) -> Range<UInt64> {
    first..<first + UInt64(count(usual))
  }
}
