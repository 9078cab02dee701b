/// The part of a text that shows why a search found it.
extension TextSearch {
  /// The signs around a part of a text, and around each word in it that the search found.
  package struct SnippetMarks: Sendable, Hashable {
    package let before: String
    package let after: String

    package init(before: String, after: String) {
      self.before = before
      self.after = after
    }
  }

  /// Returns up to `count` words of a text, as it has them, with marks around those that the search found.
  ///
  /// In scripts without spaces a character counts as a word. These are the words among which most words of the search
  /// are; the first such ones, with as many words before as behind. An ellipsis is in the place of what is left out. A
  /// text without words that were found gives its beginning. Reads the text once.
  package func snippet(of text: String, words count: Int, marks: SnippetMarks) -> String {
    var text = text
    return text.withUTF8 { bytes in
      let all = spans(of: UnsafeRawBufferPointer(bytes))
      let shown = Self.window(of: all, count: max(1, count), terms: terms.count)
      guard let first = all[shown].first, let last = all[shown].last else {
        return String(decoding: bytes, as: UTF8.self)
      }
      func part(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
      }
      let isCut = (start: shown.lowerBound > 0, end: shown.upperBound < all.count)
      var place = isCut.start ? first.range.lowerBound : 0
      let end = isCut.end ? last.range.upperBound : bytes.count
      var snippet = isCut.start ? "\u{2026}" : ""
      for found in Self.foundRanges(in: all[shown]) {
        snippet += part(place..<found.lowerBound) + marks.before + part(found) + marks.after
        place = found.upperBound
      }
      return snippet + part(place..<end) + (isCut.end ? "\u{2026}" : "")
    }
  }

  /// Returns the ranges of what was found, with one for characters beside each other.
  private static func foundRanges(in spans: ArraySlice<Span>) -> [Range<Int>] {
    spans.filter { !$0.found.isEmpty }.reduce(into: []) { ranges, span in
      if let last = ranges.last, last.upperBound == span.range.lowerBound {
        ranges[ranges.count - 1] = last.lowerBound..<span.range.upperBound
      } else {
        ranges.append(span.range)
      }
    }
  }

  /// A word of a text, or a character of one without spaces, and the words of the search that it is or belongs to.
  private struct Span {
    var range: Range<Int>
    var found: [Int]
  }

  private func spans(of text: UnsafeRawBufferPointer) -> [Span] {
    var spans: [Span] = []
    Self.forEachWord(in: text) { bytes, range in
      let word = String(decoding: bytes, as: UTF8.self)
      let found = terms.indices.filter { terms[$0].finds(word) }
      if word.isSpaceless {
        let original = String(decoding: text[range], as: UTF8.self)
        if word.unicodeScalars.count == original.unicodeScalars.count {
          spans += characters(of: word, writtenAs: original, from: range.lowerBound, found)
          return true
        }
      }
      // A piece of the text may fold to several words.
      if spans.last?.range == range {
        spans[spans.count - 1].found += found
      } else {
        spans.append(Span(range: range, found: found))
      }
      return true
    }
    return spans
  }

  /// Returns the characters of a word of a script without spaces, each with the words of the search that it belongs to.
  private func characters(
    of word: String, writtenAs original: String, from offset: Int, _ found: [Int]
  ) -> [Span] {
    var (spans, place, folded) = ([Span](), offset, 0)
    let parts = found.map { term -> (term: Int, ranges: [Range<Int>]) in
      let wanted = terms[term].word.utf8
      return (term, word.utf8.occurrences(of: wanted).map { $0..<($0 + wanted.count) })
    }
    for (scalar, other) in zip(original.unicodeScalars, word.unicodeScalars) {
      let end = place + UTF8.width(scalar)
      let belongs = parts.filter { part in part.ranges.contains { $0.contains(folded) } }
      spans.append(Span(range: place..<end, found: belongs.map { $0.term }))
      (place, folded) = (end, folded + UTF8.width(other))
    }
    return spans
  }

  /// Returns the positions of the words to show.
  private static func window(of spans: [Span], count: Int, terms: Int) -> Range<Int> {
    guard spans.count > count else { return 0..<spans.count }
    var numbers = Array(repeating: 0, count: terms)
    var (present, most, end) = (0, 0, count)
    for index in spans.indices {
      for term in spans[index].found {
        numbers[term] += 1
        if numbers[term] == 1 { present += 1 }
      }
      if index >= count {
        for term in spans[index - count].found {
          numbers[term] -= 1
          if numbers[term] == 0 { present -= 1 }
        }
      }
      if present > most { (most, end) = (present, index + 1) }
    }
    let shown = spans[max(0, end - count)..<end]
    guard let first = shown.firstIndex(where: { !$0.found.isEmpty }) else { return 0..<count }
    let start = first - (count - (end - first)) / 2
    let fitting = min(max(0, start), spans.count - count)
    return fitting..<(fitting + count)
  }
}
