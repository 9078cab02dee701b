import BothyStore
import Foundation
import GRDB

/// The code that archives in SQLite files share.
///
/// The files can come from untrusted sources, and their tables may be views that generate rows. So values have a size
/// limit, and rows a time limit. The size of the file limits the number of tiles.
enum SQLiteArchive {
  /// The maximum size of one tile, with the rest of its row.
  private static let longestRow = 65 << 20
  /// The time limit of one read, and of the time from one row to the next.
  static let longestStep = Duration.seconds(20)

  /// Opens a file as read-only.
  ///
  /// One with a write-ahead log needs files beside it. Where they can't be created, as in an app's own folder or on a
  /// read-only volume, it is read as it lies, unless its log has content.
  static func open(_ path: String, label: String = "bothy.archive") throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = label
    configuration.prepareDatabase { database in
      database.limitLength(longestRow)
      try database.execute(sql: "PRAGMA trusted_schema = OFF")
    }
    do { return try DatabaseQueue(path: path, configuration: configuration) } catch let error
      where ClosableDatabase.isUnwritable(error) && (FileFingerprint(path: path + "-wal")?.size ?? 0) == 0
    {
      return try DatabaseQueue(path: ClosableDatabase.address(asItLies: path), configuration: configuration)
    }
  }

  /// Runs statements and interrupts one that takes longer than `step` before `body` extends the deadline.
  static func bounded<Result>(
    _ database: Database, within step: Duration = longestStep, _ body: (ArchiveDeadline) throws -> Result
  ) rethrows -> Result {
    let deadline = ArchiveDeadline(step)
    return try database.interrupted(when: { deadline.isOver }) { try body(deadline) }
  }

  /// Returns the number of bytes of the file. No table has more rows, as each row takes several bytes.
  static func mostRows(_ database: Database) throws -> Int {
    let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
    return try pages * (Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
  }

  /// Returns the values of a table of metadata by their names. Of a name that is there twice, the last value counts.
  ///
  /// Throws `BothyError` `damagedArchive` if all names and values have more than 8 MB.
  static func values(_ database: Database, of table: String) throws -> [String: DatabaseValue] {
    var values: [String: DatabaseValue] = [:]
    var bytes = 0
    let rows = try Row.fetchCursor(database, sql: "SELECT name, value FROM \(table)")
    while let row = try rows.next() {
      guard let name = String.fromDatabaseValue(row[0]) else { continue }
      let value: DatabaseValue = row[1]
      bytes += name.utf8.count + size(value)
      guard bytes <= PMTilesHeader.metadataLimit else {
        throw BothyError(
          .damagedArchive,
          "The table \(table) of the file has more than 8 MB, which no map needs. Get the archive from its maker."
        )
      }
      values[name] = value
    }
    return values
  }

  private static func size(_ value: DatabaseValue) -> Int {
    switch value.storage {
    case .blob(let data): data.count
    case .string(let text): text.utf8.count
    case .null, .int64, .double: 8
    }
  }

  /// Throws `BothyError` `damagedArchive` for a file that is shorter than its header states, such as after an incomplete
  /// download.
  static func checkSize(_ path: String) throws(BothyError) {
    // The code that opens the file reports unreadable files.
    guard let handle = FileHandle(forReadingAtPath: path) else { return }
    defer { try? handle.close() }  // The file was only read.
    guard let head = try? handle.read(upToCount: 100), head.count == 100, let size = try? handle.seekToEnd()
    else { return }
    let bytes = [UInt8](head)
    func number(_ place: Int, _ count: Int) -> UInt64 {
      bytes[place..<place + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
    // The number of pages is valid if the change counters agree (SQLite's file format, section 1.3.7).
    guard number(24, 4) == number(92, 4) else { return }
    let page = number(16, 2) == 1 ? 65536 : number(16, 2)
    guard size < number(28, 4) * page else { return }
    throw BothyError(
      .damagedArchive,
      "\(path) was cut off: it has \(size) bytes of the \(number(28, 4) * page) that it says. Get the archive again."
    )
  }
}

/// The deadline of a statement, extended with each row. Only the thread of the connection uses it.
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
