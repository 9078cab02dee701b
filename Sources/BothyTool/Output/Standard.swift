import Foundation

/// The two standard streams: results to one, everything said to people beside them to the other.
enum Standard {
  /// Writes a result, unbuffered. Throws when standard output takes no more.
  static func write(_ text: String) throws { try write(Array((text + "\n").utf8)) }

  static func write(_ bytes: [UInt8]) throws {
    do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch {
      throw ToolError(
        "The result could not be written to standard output. Free some space, or check the pipe.")
    }
  }

  /// Says something beside the results.
  static func note(_ text: String) {
    // Nobody left to tell when standard error is closed.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Replaces the last line of a terminal.
  static func status(_ text: String) {
    // Nobody left to tell when standard error is closed.
    try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(text)".utf8))
  }

  /// Whether a person looks at standard error.
  static var hasTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// All of a file, or of standard input for `-`.
  static func read(_ path: String) throws -> [UInt8] {
    if path == "-" { return Array(try FileHandle.standardInput.readToEnd() ?? Data()) }
    guard FileManager.default.fileExists(atPath: path) else {
      throw ToolError("There is no file at \(path). Check the path.")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ToolError("\(path) can't be read. Check that it is a file and may be read.")
    }
    return Array(data)
  }
}
