import Foundation

/// Compares code in articles with compiled code: line by line, without indentation and empty lines.
enum PublishedCode {
  /// Returns the lines of the Swift blocks of a Markdown file, given by its path from the package's root.
  static func published(in article: String, near file: String) throws -> [String] {
    let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent(article), encoding: .utf8)
    return text.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
      .filter { $0.hasPrefix("swift\n") }
      .flatMap { $0.split(separator: "\n").dropFirst() }
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// Returns the lines between `// marker: begin` and `// marker: end` of a source file.
  static func compiled(in file: String, marker: String) throws -> [String] {
    var lines: [String] = []
    var isInside = false
    for line in try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "\n") {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line == "// \(marker): begin" {
        isInside = true
      } else if line == "// \(marker): end" {
        isInside = false
      } else if isInside && !line.isEmpty {
        lines.append(line)
      }
    }
    return lines
  }
}
