import BothyStore
import Synchronization

/// The tiles that the server said are gone, and whose places stay. Each of them rests before the next request for it.
///
/// A map asks for its old tiles at each new position, and such a tile stays old.
final class GoneTiles: Sendable {
  private let answers = Mutex<[Tile: (error: BothyError, time: Int64)]>([:])

  /// The milliseconds until the next request: the longest wait after an error.
  private static let rest = Int64(RetryDelay.longest * 1000)

  /// Notes the server's answer for a tile at a time in milliseconds since 1970. Forgets those that no longer count.
  func note(_ tile: Tile, _ error: BothyError, at now: Int64) {
    answers.withLock { answers in
      if answers[tile].map({ Self.counts($0.time, at: now) }) ?? false { return }
      answers = answers.filter { Self.counts($0.value.time, at: now) }
      answers[tile] = (error, now)
    }
  }

  /// Returns the server's last answer for a tile, or `nil` if the tile may be requested.
  func answer(for tile: Tile, at now: Int64) -> BothyError? {
    answers.withLock { answers in
      answers[tile].flatMap { Self.counts($0.time, at: now) ? $0.error : nil }
    }
  }

  /// Returns true for an answer that is not too old. A clock that was set back makes none last longer.
  private static func counts(_ time: Int64, at now: Int64) -> Bool {
    (0..<rest).contains(now.subtractingClamped(time))
  }
}
