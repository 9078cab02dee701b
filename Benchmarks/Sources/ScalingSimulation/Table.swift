import Bars

/// Rows under a title, printed as Markdown for a page.
struct Table {
  private let title: String
  private let head: [String]
  private var rows: [[String]] = []

  init(_ title: String, _ head: [String]) {
    self.title = title
    self.head = head
  }

  mutating func add(_ row: [String]) { rows.append(row) }

  func print() {
    let widths = head.indices.map { column in
      ([head] + rows).map { $0[column].count }.max() ?? 0
    }
    let line = { (cells: [String]) in
      "| " + zip(cells, widths).map { $0.padded($1) }.joined(separator: " | ") + " |"
    }
    Swift.print("### \(title)\n\n\(line(head))")
    Swift.print("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|")
    for row in rows { Swift.print(line(row)) }
    Swift.print()
  }
}

extension Double {
  /// The number with three significant digits, with k and M.
  var brief: String {
    switch self {
    case 999_500...: return (self / 1_000_000).digits + " M"
    case 9_995...: return (self / 1000).digits + " k"
    default: return digits
    }
  }

  private var digits: String {
    if self >= 99.95 || self == rounded() { return String(Int(rounded())) }
    if self >= 9.995 { return String((self * 10).rounded() / 10) }
    if self >= 0.01 { return short }
    return self == 0 ? "0" : "< 0.01"
  }
}

extension Int {
  var brief: String {
    switch self {
    case 1_000_000... where isMultiple(of: 1_000_000): "\(self / 1_000_000) M"
    case 1000... where isMultiple(of: 1000): "\(self / 1000) k"
    default: "\(self)"
    }
  }
}
