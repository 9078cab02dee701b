/// Rows of text in aligned columns.
struct TextTable {
  private let header: [String]
  private var rows: [[String]] = []

  init(_ header: [String]) { self.header = header }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// Returns the lines, or `empty` without rows. Cells are cut at 48 characters.
  func text(empty: String) -> String {
    guard !rows.isEmpty else { return empty }
    let all = [header] + rows.map { $0.map(Self.cell) }
    let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
      return cells.joined(separator: "  ").trimmingTrailingSpaces
    }.joined(separator: "\n")
  }

  private static func cell(_ text: String) -> String {
    let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    return line.count > 48 ? line.prefix(47) + "…" : line
  }
}

extension String {
  fileprivate var trimmingTrailingSpaces: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
