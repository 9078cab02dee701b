/// An error in JSON text, with its position.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause, as the tail of a sentence.
  package var reason: String
  /// The byte offset in the text at which the error is detected.
  package var offset: Int

  /// Creates an error at a byte offset. `reason` is the tail of a sentence, such as "a string has no end".
  package init(reason: String, offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  package var description: String { "Malformed JSON at byte \(offset): \(reason)." }
}
