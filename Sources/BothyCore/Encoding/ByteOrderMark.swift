extension Collection<UInt8> {
  /// True if a text begins with the byte order mark of UTF-8.
  package var hasByteOrderMark: Bool { starts(with: [0xEF, 0xBB, 0xBF]) }

  /// Returns the text after the byte order mark of UTF-8, if it begins with one.
  package func afterByteOrderMark() -> SubSequence { dropFirst(hasByteOrderMark ? 3 : 0) }
}
