import BothyServer
import Foundation

/// The file that spans are appended to.
enum TraceFile {
  /// Makes the file when it is not there, for its owner's eyes alone. A disk that is full costs spans and no request.
  static func writer(appendingTo path: String) throws -> TraceWriter {
    _ = try PrivateFile.create(at: path)
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else { throw ToolError("\(path) can't be written. Check its permissions.") }
    return TraceWriter { line in
      // One call a line: lines of several tasks and processes do not mix.
      _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
  }
}
