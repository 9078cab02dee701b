import BothyServer
import Foundation

/// The file to which spans are appended.
enum TraceFile {
  /// Creates the file if it doesn't exist, readable by its owner alone. A full disk loses spans but fails no request.
  static func writer(appendingTo path: String) throws -> TraceWriter {
    _ = try PrivateFile.create(at: path)
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else { throw ToolError("\(path) can't be written. Check its permissions.") }
    return TraceWriter { span in
      let line = TraceDocument.request([span], service: "bothy") + [UInt8(ascii: "\n")]
      // One call for each line, so that lines of several tasks and processes don't mix.
      _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
  }
}
