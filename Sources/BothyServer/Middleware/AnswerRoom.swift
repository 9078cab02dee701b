import BothySyncService
import Synchronization

/// The part of the budget of all bodies and answers that one answer has: while its records are read, while it is made of
/// them, and until its caller has read it.
final class AnswerRoom: Sendable {
  /// The copies of an answer in memory while it is made: as records, as JSON, and compressed or for the connection.
  static let copies = 3

  let hold: SharedBudget.Hold
  private let parts = Mutex<[AnswerPart: Int]>([:])

  init(_ hold: SharedBudget.Hold) { self.hold = hold }

  /// Takes up to so many bytes in all for a part of the answer, and returns how many it has.
  func take(_ bytes: Int, for part: AnswerPart) -> Int {
    parts.withLock { parts in
      var taken = parts[part] ?? 0
      if taken < bytes { taken += hold.fill((bytes - taken) * Self.copies) / Self.copies }
      parts[part] = taken
      return min(taken, bytes)
    }
  }

  /// Takes the bytes of an answer that can't be shorter. Throws `HTTPFailure` 503 if there is no room for them.
  func take(whole bytes: Int) throws {
    guard hold.takeWhole(bytes * Self.copies) else { throw HTTPFailure.crowded }
  }
}
