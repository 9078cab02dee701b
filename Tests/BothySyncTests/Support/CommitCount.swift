import Foundation

/// Counts the commits in the log of a SQLite file: a frame of the log that ends one says so in its header.
///
/// Right as long as no checkpoint has begun the log anew; a test writes less than that takes.
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
      // The salt tells the frames of this log from those of an older one.
      number(at: frame + 4) != 0 && log[frame + 8..<frame + 16] == log[16..<24]
    }
  }
}
