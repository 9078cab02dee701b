import Foundation

/// What archives in SQLite files have in common.
enum SQLiteArchive {
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
