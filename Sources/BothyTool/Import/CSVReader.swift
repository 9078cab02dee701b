/// Rows of comma-separated values as RFC 4180 has them: quotes around cells that hold commas, quotes or line
/// ends, a quote inside doubled.
struct CSVReader {
  private let lines: LineReader

  init(_ lines: LineReader) { self.lines = lines }

  /// The line that the last row ended on.
  var line: Int { lines.line }

  /// The next row; nil after the last. A nil cell is empty and has no quotes.
  func next() throws -> [String?]? {
    guard var text = try lines.next() else { return nil }
    let first = lines.line
    while !Self.isWhole(text) {
      guard let more = try lines.next() else {
        throw ToolError("Line \(first): a quoted cell has no end. Close it with a quotation mark.")
      }
      text += [UInt8(ascii: "\n")] + more
    }
    return Self.cells(text)
  }

  /// Whether every quote is closed: their number is even.
  private static func isWhole(_ text: [UInt8]) -> Bool {
    text.count { $0 == UInt8(ascii: "\"") }.isMultiple(of: 2)
  }

  private static func cells(_ text: [UInt8]) -> [String?] {
    let quote = UInt8(ascii: "\"")
    var cells: [String?] = []
    var cell: [UInt8] = []
    var (isInside, wasQuoted) = (false, false)
    var index = 0
    func finish() -> String? { cell.isEmpty && !wasQuoted ? nil : String(decoding: cell, as: UTF8.self) }
    while index < text.count {
      let byte = text[index]
      if byte == quote {
        if isInside, index + 1 < text.count, text[index + 1] == quote {
          cell.append(quote)
          index += 1
        } else {
          isInside.toggle()
          wasQuoted = true
        }
      } else if byte == UInt8(ascii: ","), !isInside {
        cells.append(finish())
        (cell, wasQuoted) = ([], false)
      } else {
        cell.append(byte)
      }
      index += 1
    }
    return cells + [finish()]
  }
}
