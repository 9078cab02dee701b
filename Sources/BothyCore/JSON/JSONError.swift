/// Why a text is not the JSON that was expected, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, as the tail of a sentence.
  public var reason: String
  /// The byte offset in the text at which it shows.
  public var offset: Int

  /// An error at a byte offset; `reason` is the tail of a sentence: "a string has no end".
  public init(reason: String, offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  public var description: String { "Malformed JSON at byte \(offset): \(reason)." }
}
