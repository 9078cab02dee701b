/// Attributions as plain text. Providers write them in HTML, which an app must not take into a page as it is.
enum AttributionText {
  /// Returns plain texts, each once and in order, without those that are a part of another.
  static func joined(_ texts: [String]) -> [String] {
    var found: [String] = []
    for text in texts.map(plain) where !text.isEmpty && !found.contains(text) { found.append(text) }
    return found.filter { text in !found.contains { $0 != text && $0.contains(text) } }
  }

  /// Returns the text without elements, with its character references resolved.
  static func plain(_ html: String) -> String {
    var text = ""
    var isInside = false
    for character in html.prefix(4096) {
      switch character {
      case "<": isInside = true
      case ">" where isInside: isInside = false
      default: if !isInside { text.append(character) }
      }
    }
    for (name, character) in names { text = text.replacing(name, with: character) }
    return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// The references that attributions have. The ampersand is last, so that none is resolved twice.
  private static let names = [
    ("&copy;", "©"), ("&#169;", "©"), ("&#xA9;", "©"), ("&nbsp;", " "), ("&quot;", "\""), ("&#39;", "'"),
    ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
  ]
}
