/// Tiles as single files, by the names that map programs use.
extension Tile {
  /// Creates the tile that the end of a path names, with any folders before it and any extension. Examples are
  /// `16/18109/23965.json`, `16_18109_23965.json`, or a quadkey `0302231230133303.json`. Returns `nil` for other names.
  package init?(filePath: String) {
    let parts = filePath.split(separator: "/").suffix(3)
    guard let last = parts.last else { return nil }
    let stem = last.prefix { $0 != "." }
    guard !stem.isEmpty else { return nil }
    let words = stem.split(separator: "_", omittingEmptySubsequences: false)
    if words.count == 3 {
      self.init(words[...])
    } else if parts.count == 3, parts.dropLast().allSatisfy({ Self.number($0) != nil }) {
      // In folders of zoom and column, a name is a row.
      self.init(parts.dropLast() + [stem])
    } else if let tile = try? Tile(quadkey: String(stem)) {  // an invalid quadkey names no tile
      self = tile
    } else {
      return nil
    }
  }

  /// Creates a tile from zoom, column and row in canonical decimal form.
  private init?(_ words: ArraySlice<Substring>) {
    let numbers = words.compactMap(Self.number)
    guard numbers.count == 3,
      let tile = try? Tile(x: numbers[1], y: numbers[2], zoom: numbers[0])  // invalid numbers name no tile
    else { return nil }
    self = tile
  }

  private static func number(_ word: Substring) -> Int? {
    Int(word).flatMap { String($0) == word ? $0 : nil }
  }
}
