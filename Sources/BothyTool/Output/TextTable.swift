/// Rows of text in aligned columns.
struct TextTable {
  private let header: [String]
  private let whole: Set<String>
  private var rows: [[String]] = []

  /// Creates a table.
  ///
  /// - Parameter whole: the columns that aren't cut, such as ids, addresses and reasons.
  init(_ header: [String], whole: Set<String> = []) {
    self.header = header
    self.whole = whole
  }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// Returns the lines, or `empty` without rows. Cells are cut at 48 characters, except in whole columns.
  func text(empty: String) -> String {
    guard !rows.isEmpty else { return empty }
    let lines = rows.map { row in
      zip(header, row).map { name, text in cell(text, isWhole: whole.contains(name)) }
    }
    let all = [header] + lines
    let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
      return cells.joined(separator: "  ").trimmingTrailingSpaces
    }.joined(separator: "\n")
  }

  private func cell(_ text: String, isWhole: Bool) -> String {
    let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    return line.count > 48 && !isWhole ? line.prefix(47) + "…" : line
  }
}

extension String {
  fileprivate var trimmingTrailingSpaces: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
