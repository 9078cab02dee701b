import BothyStore
import Foundation
import GRDB

/// What archives in SQLite files have in common.
///
/// The files are others' work: their tables may be views that make what they give. So a value has an end, and so has the
/// time that a row may take.
enum SQLiteArchive {
  /// The most bytes of one tile, with what belongs to its row.
  private static let longestRow = 65 << 20
  /// The longest that one answer may take, and the longest from one row to the next.
  static let longestStep = Duration.seconds(20)

  /// Opens a file for reading alone.
  static func open(_ path: String, label: String = "bothy.archive") throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = label
    configuration.prepareDatabase { database in
      database.limitLength(longestRow)
      try database.execute(sql: "PRAGMA trusted_schema = OFF")
    }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Runs statements, none of which may take longer than the step without a word from the deadline's holder.
  static func bounded<Result>(
    _ database: Database, within step: Duration = longestStep, _ body: (ArchiveDeadline) throws -> Result
  ) rethrows -> Result {
    let deadline = ArchiveDeadline(step)
    return try database.interrupted(when: { deadline.isOver }) { try body(deadline) }
  }

  /// Throws `GeoError` `.damagedArchive` for a file that is shorter than its header says: it was cut off on its way.
  static func checkSize(_ path: String) throws(GeoError) {
    // Unreadable files are told of by who opens them.
    guard let handle = FileHandle(forReadingAtPath: path) else { return }
    defer { try? handle.close() }  // Only read from.
    guard let head = try? handle.read(upToCount: 100), head.count == 100, let size = try? handle.seekToEnd()
    else { return }
    let bytes = [UInt8](head)
    func number(_ place: Int, _ count: Int) -> UInt64 {
      bytes[place..<place + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
    // The number of pages holds when the counters of changes agree (SQLite's file format, section 1.3.7).
    guard number(24, 4) == number(92, 4) else { return }
    let page = number(16, 2) == 1 ? 65536 : number(16, 2)
    guard size < number(28, 4) * page else { return }
    throw GeoError(
      .damagedArchive,
      "\(path) was cut off: it has \(size) bytes of the \(number(28, 4) * page) that it says. Get the archive again."
    )
  }
}

/// Until when a statement may run; put off with each row that comes. Used by the thread of the connection alone.
final class ArchiveDeadline {
  private let step: Duration
  private var end: ContinuousClock.Instant

  init(_ step: Duration) {
    self.step = step
    end = ContinuousClock.now + step
  }

  var isOver: Bool { ContinuousClock.now > end }

  func putOff() { end = ContinuousClock.now + step }
}
