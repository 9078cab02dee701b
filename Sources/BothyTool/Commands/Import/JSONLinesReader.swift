import BothyStore

/// Reads one JSON object on each line, and skips empty lines.
struct JSONLinesReader {
  private let lines: LineReader
  private let reader: RecordReader

  init(_ lines: LineReader, _ reader: RecordReader) {
    self.lines = lines
    self.reader = reader
  }

  func next() throws -> AnyRecord? {
    while let line = try lines.next() {
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
      return try Located.at("Line \(lines.line)") { try reader.record(parsing: line).record }
    }
    return nil
  }
}
