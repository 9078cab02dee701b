import Foundation

/// The words of a search, and the test if texts contain them.
///
/// Words are runs of letters and digits, with case and diacritics folded: `Straße` and `STRASSE` are one word. A run of
/// characters of a script without spaces between words is a word of its own, of which each part is found. The text
/// index on a device, the reference evaluator and the server all use these words.
package struct TextSearch: Sendable, Hashable {
  /// One word of a search.
  package struct Term: Sendable, Hashable {
    package let word: String
    /// True if longer words that begin with it are found too: of the last word, and of one with a `*` after it.
    package fileprivate(set) var isPrefix: Bool

    /// True of a word of a script without spaces, any part of which is found.
    package let isPart: Bool

    /// True if a word of a text is this one, begins with it, or has it as a part.
    func finds(_ other: String) -> Bool {
      if isPart { return !other.utf8.occurrences(of: word.utf8).isEmpty }
      return isPrefix ? other.utf8.starts(with: word.utf8) : other.utf8.elementsEqual(word.utf8)
    }

    /// The keys of which the index of a text with the word has all.
    package var keys: [String] { isPart ? WordPieces.keys(of: word, isSearch: true) : [word] }

    /// True if the keys are the start of keys of the index.
    package var isKeyPrefix: Bool { isPart ? word.unicodeScalars.count < WordPieces.length : isPrefix }
  }

  /// The words in their order, each once.
  package let terms: [Term]

  package init(_ text: String) {
    var (text, terms, end) = (text, [Term](), 0)
    text.withUTF8 { bytes in
      Self.forEachWord(in: UnsafeRawBufferPointer(bytes)) { word, range in
        // Of the words that a piece of the text folds to the last one is before the sign.
        if range.upperBound == end, !terms.isEmpty { terms[terms.count - 1].isPrefix = false }
        end = range.upperBound
        let isPrefix = end < bytes.count && bytes[end] == UInt8(ascii: "*")
        terms.append(
          Term(
            word: String(decoding: word, as: UTF8.self), isPrefix: isPrefix,
            isPart: WordPieces.isSpaceless(word)))
        return true
      }
    }
    if !terms.isEmpty { terms[terms.count - 1].isPrefix = true }
    // Of equal words the last one stays, as the last word of the text is always a prefix.
    var known: Set<[UInt8]> = []
    self.terms = terms.reversed().filter {
      known.insert(Array($0.word.utf8) + ($0.isPrefix ? [0] : [])).inserted
    }.reversed()
  }

  /// The search as text: words in their folded form. A search of this text has the same words.
  var text: String { terms.map { $0.word + ($0.isPrefix ? "*" : "") }.joined(separator: " ") }

  /// True if `texts` contain every word. A search without words matches everything.
  func matches(_ texts: [String]) -> Bool {
    if terms.isEmpty { return true }
    let found = texts.flatMap(Self.words(of:))
    return terms.allSatisfy { found.contains(where: $0.finds) }
  }

  /// Returns the query in FTS5's syntax, or nil without words. Words are quoted, so that none is read as an operator.
  ///
  /// - Parameter columns: the columns that are searched; nil for all.
  func fullTextQuery(in columns: [String]? = nil) -> String? {
    if terms.isEmpty { return nil }
    // The tokenizer makes a phrase of the keys of a word without spaces.
    let words = terms.map { "\"\($0.word)\"" + ($0.isKeyPrefix ? "*" : "") }.joined(separator: " AND ")
    guard let columns else { return words }
    return "{\(columns.map(\.quotedIdentifier).joined(separator: " "))} : (\(words))"
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

  /// Returns the keys by which an index finds a text.
  package static func keys(of text: String) -> [String] {
    words(of: text).flatMap { $0.isSpaceless ? WordPieces.keys(of: $0, isSearch: false) : [$0] }
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
    let parts = run.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).flatMap(\.piecesByScript)
    for part in parts {
      let start = offset + run.utf8.distance(from: run.startIndex, to: part.startIndex)
      let folded = String(part).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      let words = folded.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
      for word in words.flatMap(\.piecesByScript) {
        var word = String(word)
        guard word.withUTF8({ body($0, start..<start + part.utf8.count) }) else { return false }
      }
    }
    return true
  }
}

extension TypeSchema {
  /// Returns the full-text fields with these names, all of them without names.
  package func searched(_ names: [String]) -> [FieldSchema] {
    fields.filter { $0.isFullText && (names.isEmpty || names.contains($0.name)) }
  }
}
