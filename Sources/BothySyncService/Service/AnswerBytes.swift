import BothyStore

/// A part of an answer whose records have bytes of their own.
package enum AnswerPart: Sendable { case outcomes, changes }

/// The bytes that the records of one part of an answer may still have.
///
/// The first ones are there at once. When they are spent, more are taken from the memory that all answers of a server
/// share, before further records are read. A server that has no more makes the answer shorter.
struct AnswerBytes {
  private(set) var left: Int
  private var given: Int
  private let most: Int
  private let part: AnswerPart
  private let room: SyncService.AnswerRoom?

  /// - Parameter room: the shared memory, or `nil` if all bytes are there.
  init(_ bytes: Int, for part: AnswerPart, from room: SyncService.AnswerRoom?) {
    most = max(1, bytes)
    given = room == nil ? most : min(most, SyncService.answerStart)
    left = given
    self.part = part
    self.room = room
  }

  mutating func spend(_ bytes: Int) {
    left = max(0, left.subtractingClamped(bytes))
    guard left == 0, given < most, let room else { return }
    let wanted = given > most / Self.growth ? most : given * Self.growth
    let more = SyncService.answerStart + room(wanted - SyncService.answerStart, part) - given
    left = max(0, more)
    given += left
  }

  /// The factor by which an answer grows at a time. So a short one takes little from others.
  private static let growth = 8
}

extension SyncService {
  /// Takes up to so many bytes in all for a part of an answer beyond its start, and returns how many it has. A part that
  /// is read once more, because its transaction is repeated, keeps them.
  package typealias AnswerRoom = @Sendable (_ bytes: Int, _ part: AnswerPart) -> Int

  /// The bytes of an answer's records that are no part of the memory of all answers. Most answers have fewer.
  package static let answerStart = 64 << 10

  /// Returns the service for one answer, with the memory that it shares with others.
  package func answering(within room: AnswerRoom?) -> SyncService {
    var service = self
    service.room = room
    return service
  }

  /// Returns the bytes that the records of a part of the answer may have.
  func answerBytes(for part: AnswerPart) -> AnswerBytes {
    AnswerBytes(rules.answerSize, for: part, from: room)
  }
}
