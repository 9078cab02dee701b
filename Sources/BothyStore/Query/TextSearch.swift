import Foundation

/// The words of a search, and the test if texts contain them.
///
/// Words are runs of letters and digits, with case and diacritics folded: `Straße` and `STRASSE` are one word. The text
/// index on a device, the reference evaluator and the server all use these words.
package struct TextSearch {
  package let words: [String]

  package init(_ text: String) { words = Self.words(of: text) }

  /// True if `texts` contain every word, the last one as the start of a word. A search without words matches
  /// everything.
  func matches(_ texts: [String]) -> Bool {
    guard let last = words.last else { return true }
    let found = texts.flatMap(Self.words(of:))
    return words.dropLast().allSatisfy { word in found.contains { $0.utf8.elementsEqual(word.utf8) } }
      && found.contains { $0.utf8.starts(with: last.utf8) }
  }

  /// The query in FTS5's syntax, or nil without words. Words are quoted, so that none is read as an operator.
  var fullTextQuery: String? {
    words.isEmpty ? nil : words.map { "\"\($0)\"" }.joined(separator: " AND ") + "*"
  }

  package static func words(of text: String) -> [String] {
    var (text, words) = (text, [String]())
    text.withUTF8 { bytes in
      forEachWord(in: UnsafeRawBufferPointer(bytes)) { word, _ in
        words.append(String(decoding: word, as: UTF8.self))
        return true
      }
    }
    return words
  }

  /// Calls `body` with the UTF-8 bytes of each word and its range in `text`, until it returns false.
  ///
  /// Words of ASCII cost one pass over their bytes. Other words use Foundation.
  static func forEachWord(
    in text: UnsafeRawBufferPointer, _ body: (UnsafeBufferPointer<UInt8>, Range<Int>) -> Bool
  ) {
    var (word, position): ([UInt8], Int) = ([], 0)
    while position < text.count {
      let start = position
      var isASCII = true
      word.removeAll(keepingCapacity: true)
      while position < text.count, let folded = folded(text[position]) {
        isASCII = isASCII && folded < 0x80
        word.append(folded)
        position += 1
      }
      if position == start {
        position += 1
        continue
      }
      let range = start..<position
      let goesOn =
        isASCII
        ? word.withUnsafeBufferPointer { body($0, range) }
        : forEachWord(inRun: String(decoding: text[range], as: UTF8.self), at: start, body)
      guard goesOn else { return }
    }
  }

  /// Returns the byte of a word as lower case, or nil for an ASCII byte between words.
  private static func folded(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    default: nil
    }
  }

  /// Calls `body` with the words of a run without ASCII separators. Folding may produce separators.
  private static func forEachWord(
    inRun run: String, at offset: Int, _ body: (UnsafeBufferPointer<UInt8>, Range<Int>) -> Bool
  ) -> Bool {
    for part in run.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
      let start = offset + run.utf8.distance(from: run.startIndex, to: part.startIndex)
      let folded = String(part).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      for word in folded.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
        var word = String(word)
        guard word.withUTF8({ body($0, start..<start + part.utf8.count) }) else { return false }
      }
    }
    return true
  }
}
