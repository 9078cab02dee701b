import Foundation

/// The two standard streams: one for results, the other for notes to people.
enum StandardStreams {
  /// Writes a result, unbuffered. Throws if standard output is closed.
  static func write(_ text: String) throws { try write(Array((text + "\n").utf8)) }

  /// Writes a result for people, like `write`. A terminal gets no commands that other people's records hold.
  static func show(_ text: String) throws {
    try write(isatty(STDOUT_FILENO) == 1 ? text.withoutCommands : text)
  }

  static func write(_ bytes: [UInt8]) throws {
    do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch {
      throw ToolError(
        "The result could not be written to standard output. Free some space, or check the pipe.")
    }
  }

  /// Prints a note on standard error.
  static func note(_ text: String) {
    let shown = hasTerminal ? text.withoutCommands : text
    // If standard error is closed, the note is lost.
    try? FileHandle.standardError.write(contentsOf: Data((shown + "\n").utf8))
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

extension String {
  /// The text with a code in place of each control character. Tabs and ends of lines stay.
  fileprivate var withoutCommands: String {
    var shown = UnicodeScalarView()
    for scalar in unicodeScalars {
      switch scalar.value {
      case 0x09, 0x0A: shown.append(scalar)
      case 0..<0x20, 0x7F..<0xA0:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        shown.append(contentsOf: "⟨U+00\(digits.count == 1 ? "0" : "")\(digits)⟩".unicodeScalars)
      default: shown.append(scalar)
      }
    }
    return String(shown)
  }
}
