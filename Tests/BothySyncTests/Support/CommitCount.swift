import Foundation

/// Counts the commits in the write-ahead log of an SQLite file. The header of a frame states if the frame ends a
/// commit.
///
/// The count is right until a checkpoint restarts the log. A test writes less than that takes.
struct CommitCount {
  private let path: String
  private let before: Int

  /// Counts from now on.
  init(_ database: String) throws {
    path = database + "-wal"
    before = try Self.commits(path)
  }

  func sinceThen() throws -> Int { try Self.commits(path) - before }

  private static func commits(_ path: String) throws -> Int {
    guard FileManager.default.fileExists(atPath: path) else { return 0 }
    let log = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    guard log.count > 32 else { return 0 }
    func number(at offset: Int) -> Int { log[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    let page = number(at: 8)
    return stride(from: 32, to: log.count - 24, by: page + 24).count { frame in
      // The salt distinguishes the frames of this log from those of an older one.
      number(at: frame + 4) != 0 && log[frame + 8..<frame + 16] == log[16..<24]
    }
  }
}
