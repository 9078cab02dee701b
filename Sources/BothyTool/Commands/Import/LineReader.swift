import BothyStore
import Foundation

/// Reads the lines of a file or of standard input, one at a time, in bounded memory. Leaves out a byte order mark.
final class LineReader {
  private let handle: FileHandle
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of the line that `next` returned last, from 1.
  private(set) var line = 0
  /// True if that line ended with a carriage return too.
  private(set) var endedWithReturn = false

  /// Opens a file. Throws `ToolError` if it can't be read.
  init(_ path: String) throws {
    if path == "-" {
      handle = .standardInput
    } else {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
        throw ToolError("The file \(path) does not exist. Check the path.")
      }
      guard !isFolder.boolValue else {
        throw ToolError("\(path) is a folder. Give the path of a file in it.")
      }
      guard let handle = FileHandle(forReadingAtPath: path) else {
        throw ToolError("\(path) can't be read. Check that it is a file and may be read.")
      }
      self.handle = handle
    }
  }

  /// Returns the next line without its end, or `nil` after the last.
  func next() throws -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        return take(upTo: end, nextStart: end + 1)
      }
      if isAtEnd {
        return start < buffer.count ? take(upTo: buffer.count, nextStart: buffer.count) : nil
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      let chunk = try handle.read(upToCount: 1 << 16) ?? Data()
      isAtEnd = chunk.isEmpty
      buffer.append(contentsOf: chunk)
    }
  }

  private func take(upTo end: Int, nextStart: Int) -> [UInt8] {
    line += 1
    var bytes = buffer[start..<end]
    endedWithReturn = bytes.last == UInt8(ascii: "\r")
    if endedWithReturn { bytes.removeLast() }
    start = nextStart
    return Array(line == 1 ? bytes.afterByteOrderMark() : bytes)
  }
}
