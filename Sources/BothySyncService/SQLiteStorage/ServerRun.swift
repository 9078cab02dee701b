import BothyStore
import Foundation
import GRDB

/// The writes of one process, from its start.
///
/// A run begins at a position that stands for its time. So of two runs from copies of one file, the later has the higher
/// positions, and neither uses those of the other.
package struct ServerRun: Sendable {
  /// The name of the run, which differs after a restart and between processes.
  let mark = UUIDv7.make()
  private let now: @Sendable () -> Int64
  private let random: @Sendable (Range<Int64>) -> Int64

  /// The bound of the positions that a gap reaches. Beyond it a JSON number isn't exact in every language.
  package static let limit: Int64 = 1 << 53
  /// The positions of a millisecond. More writes than that take longer.
  private static let rate: Int64 = 2048
  /// The beginning of 2020, in milliseconds since 1970.
  private static let beginning: Int64 = 1_577_836_800_000

  /// - Parameters:
  ///   - now: the clock, in milliseconds since 1970.
  ///   - random: returns a random number of a range.
  package init(
    now: @escaping @Sendable () -> Int64 = { Timestamp(Date()).milliseconds },
    random: @escaping @Sendable (Range<Int64>) -> Int64 = { .random(in: $0) }
  ) {
    self.now = now
    self.random = random
  }

  /// Returns the position at which a run begins whose history has reached another one.
  ///
  /// It is that of the time, with a random part within the millisecond. A clock that gives more than half of the limit,
  /// as after 2089, counts no further. If the history is ahead of the clock, it skips up to 2^29 positions, half of them
  /// by chance. That is at most a 2^20th of what is left up to the limit, so no number of starts passes it.
  package func start(after position: Int64) -> Int64 {
    let passed = max(0, min(now() - Self.beginning, Self.limit / 2 / Self.rate - 1))
    let moment = passed * Self.rate
    if moment > position { return moment + random(0..<Self.rate) }
    let half = min(1 << 28, max(0, Self.limit - position) >> 21)
    return half == 0 ? position : position + half + random(0..<half)
  }
}
