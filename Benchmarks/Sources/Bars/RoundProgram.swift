internal import Foundation

/// Another program that measures in rounds. It answers each line of its standard input with a line of numbers.
///
/// Two of them take turns, so that other work on the machine weighs on both.
package final class RoundProgram {
  private let path: String
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  /// The bytes that came after the last line.
  private var rest = Data()

  /// Starts the program.
  package init(_ path: String, _ arguments: [String]) throws {
    self.path = path
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  /// Sends a line, and returns the numbers of the answer. The first is the seconds of the round.
  package func round(_ request: String) throws -> [Double] {
    try input.fileHandleForWriting.write(contentsOf: Data("\(request)\n".utf8))
    let newline = UInt8(ascii: "\n")
    while !rest.contains(newline) {
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw BenchmarkError("\(path) ended before it answered \(request)") }
      rest += more
    }
    let line = rest.prefix { $0 != newline }
    rest = Data(rest.dropFirst(line.count + 1))
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    let numbers = words.compactMap { Double($0) }
    guard let spent = numbers.first, spent > 0, numbers.count == words.count else {
      throw BenchmarkError("\(path) answered \(words.joined(separator: " "))")
    }
    return numbers
  }

  /// Ends the input, and waits for the program's end.
  package func end() {
    try? input.fileHandleForWriting.close()  // the program may have ended before
    process.waitUntilExit()
  }

  /// Sends the answer of a round. The program that was started calls it.
  package static func answer(_ numbers: [Double]) {
    let line = numbers.map { "\($0)" }.joined(separator: " ")
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}
