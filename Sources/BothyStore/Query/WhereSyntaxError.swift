/// A syntax error in the text form of a condition, with its position and a correction.
package struct WhereSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The mistake and its correction.
  package var message: String
  /// The column of the error, counted in characters from 1.
  package var column: Int
  /// The whole text.
  package var text: String

  init(message: String, column: Int, text: String) {
    self.message = message
    self.column = column
    self.text = text
  }

  /// The message, the text and a caret under the column.
  package var description: String {
    let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    return "\(message) (column \(column))\n  \(line)\n  \(String(repeating: " ", count: max(0, column - 1)))^"
  }
}
