import Foundation

/// The two standard streams: one for results, the other for notes to people.
enum StandardStreams {
  /// Writes a result, unbuffered. Throws if standard output is closed.
  static func write(_ text: String) throws { try write(Array((text + "\n").utf8)) }

  static func write(_ bytes: [UInt8]) throws {
    do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch {
      throw ToolError(
        "The result could not be written to standard output. Free some space, or check the pipe.")
    }
  }

  /// Prints a note on standard error.
  static func note(_ text: String) {
    // If standard error is closed, the note is lost.
    try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Replaces the last line of a terminal.
  static func status(_ text: String) {
    // If standard error is closed, the line is lost.
    try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(text)".utf8))
  }

  /// True if standard error is a terminal.
  static var hasTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Reads a whole file, or standard input for `-`.
  static func read(_ path: String) throws -> [UInt8] {
    if path == "-" { return Array(try FileHandle.standardInput.readToEnd() ?? Data()) }
    guard FileManager.default.fileExists(atPath: path) else {
      throw ToolError("The file \(path) does not exist. Check the path.")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ToolError("\(path) can't be read. Check that it is a file and may be read.")
    }
    return Array(data)
  }
}
