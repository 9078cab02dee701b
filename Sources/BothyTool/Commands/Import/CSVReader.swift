/// Reads rows of comma-separated values (RFC 4180). Cells with commas, quotes or line ends are quoted, and a quote
/// inside is doubled.
struct CSVReader {
  private let lines: LineReader

  init(_ lines: LineReader) { self.lines = lines }

  /// The last line of the last row.
  var line: Int { lines.line }

  /// Returns the next row, or `nil` after the last. A `nil` cell is empty and has no quotes.
  func next() throws -> [String?]? {
    guard var text = try lines.next() else { return nil }
    let first = lines.line
    var isWhole = Self.hasPairs(text)
    while !isWhole {
      // The end of a line in a cell stays as it is.
      let end = lines.endedWithReturn ? "\r\n" : "\n"
      guard let more = try lines.next() else {
        throw ToolError("Line \(first): a quoted cell has no end. Close it with a quotation mark.")
      }
      text += Array(end.utf8) + more
      isWhole = !Self.hasPairs(more)
    }
    guard String(validating: text, as: UTF8.self) != nil else {
      throw ToolError("Line \(first): the row is no text in UTF-8. Save the file in this encoding.")
    }
    return Self.cells(text)
  }

  /// Returns true if every quote is closed, so that their number is even. Each line of a cell is counted once.
  private static func hasPairs(_ text: [UInt8]) -> Bool {
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
