internal import GRDB
internal import Synchronization

/// Distinguishes this store from the others that have the file open, which are mostly those of other processes.
///
/// The writer's queue alone changes it.
final class OtherStores: Sendable {
  /// The number of this store. The file has it with the store's changes. The bits above the lowest 20 are those of the
  /// process.
  let own = OtherStores.process << 20 | OtherStores.count.add(1, ordering: .relaxed).newValue & 0xFFFFF
  private static let process = Int64.random(in: 1..<(1 << 32))
  private static let count = Atomic<Int64>(0)
  /// SQLite's number of the file's content after the last transaction of this store, or -1 before the first.
  private let content = Atomic<Int64>(-1)
  /// The number of the reading at which a commit of another store was noticed last.
  private let noticed = Atomic<Int64>(0)
  /// The nanoseconds by which the times of the file are ahead of those of this process.
  private let lead = Atomic<Int64>(0)

  /// Notices the commits of others since the last transaction. It is called inside the next one, and runs no statement.
  func notice(in database: Database) {
    guard database.contentNumber != content.load(ordering: .relaxed) else { return }
    noticed.store(Reading.next(), ordering: .relaxed)
    settle(in: database)
  }

  /// Notes that this store knows the content, because its own transaction was committed.
  func settle(in database: Database) { content.store(database.contentNumber, ordering: .relaxed) }

  /// Notes how far the times of the file are ahead. Called once, when the file is opened.
  func setLead(_ nanoseconds: Int64) { lead.store(nanoseconds, ordering: .relaxed) }

  /// Returns the time of the file at a time of this process. All processes that have the file open agree on it.
  func fileTime(of time: Int64) -> Int64 { time.addingClamped(lead.load(ordering: .relaxed)) }

  /// Returns the mark with a time of the file in place of one of this process.
  func converted(_ mark: ReadMark) -> ReadMark {
    guard mark.number < 0, mark.number != ReadMark.whole.number else { return mark }
    return ReadMark(number: -fileTime(of: -mark.number), reading: mark.reading)
  }

  /// True if the numbers are those of stores of one process.
  static func isOneProcess(_ store: Int64, _ other: Int64) -> Bool { store >> 20 == other >> 20 }

  /// True if another store may have changed the file since a value with the mark was read.
  func mayHaveChanged(since mark: ReadMark) -> Bool { mark.reading < noticed.load(ordering: .relaxed) }
}
