/// Where a condition in text form stops making sense, and what to write instead.
public struct WhereSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong and what would be right.
  public var message: String
  /// The column at which it shows, counted in characters from 1.
  public var column: Int
  /// The whole text.
  public var text: String

  init(message: String, column: Int, text: String) {
    self.message = message
    self.column = column
    self.text = text
  }

  /// The message, the text and a caret under the column.
  public var description: String {
    let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    return "\(message) (column \(column))\n  \(line)\n  \(String(repeating: " ", count: max(0, column - 1)))^"
  }
}
