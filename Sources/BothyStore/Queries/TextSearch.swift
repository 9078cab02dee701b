import Foundation

/// The words of a text as the full-text index sees them, and whether a text has the words that are looked for.
///
/// Words are runs of letters and digits, case and diacritics folded: close to FTS5's `unicode61` with
/// `remove_diacritics`, and equal to it for ASCII.
package struct TextSearch {
  let words: [String]

  init(_ text: String) { words = Self.words(of: text) }

  /// Every word is among the words of `texts`, the last one as the start of one. No words match everything.
  func matches(_ texts: [String]) -> Bool {
    guard let last = words.last else { return true }
    let found = texts.flatMap(Self.words(of:))
    return words.dropLast().allSatisfy(found.contains) && found.contains { $0.hasPrefix(last) }
  }

  /// The query in FTS5's syntax, nil when it has no words. Words are quoted, so none is taken for an operator.
  var fullTextQuery: String? {
    words.isEmpty ? nil : words.map { "\"\($0)\"" }.joined(separator: " AND ") + "*"
  }

  static func words(of text: String) -> [String] {
    let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    return folded.split { !$0.isLetter && !$0.isNumber }.map { String($0) }
  }
}
