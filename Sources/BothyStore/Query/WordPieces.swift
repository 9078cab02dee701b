/// Words of scripts that are written without spaces between words, such as Chinese, Japanese and Thai.
///
/// A run of such characters is one word, and any part of it is found. Indexes have a key for each of its characters:
/// the character and the two behind it, fewer at the end. A search for one or two characters is the start of a key. A
/// longer one is keys that follow each other.
extension Unicode.Scalar {
  /// True of the characters of such scripts. Korean is among them, because its words have endings.
  var isSpaceless: Bool {
    guard value >= 0x0E00 else { return false }
    return switch value {
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF: true  // Thai, Lao, Burmese, Khmer
    case 0x1100...0x11FF, 0xA960...0xA97F, 0xAC00...0xD7FF: true  // Korean
    case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x318F, 0x31A0...0x31FF: true  // Radicals, kana, Bopomofo
    case 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x20000...0x3FFFF: true  // Ideographs
    case 0xFF66...0xFFDC, 0x1AFF0...0x1B16F: true  // Half the width, older kana
    default: false
    }
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The text in pieces of characters that are all of such scripts, or all of others.
  var piecesByScript: [Substring] {
    guard unicodeScalars.contains(where: \.isSpaceless) else { return [self[startIndex...]] }
    var pieces: [Substring] = []
    var (start, former): (Index, Bool?) = (startIndex, nil)
    for place in indices {
      let isSpaceless = self[place].unicodeScalars.first?.isSpaceless ?? false
      if let former, former != isSpaceless {
        pieces.append(self[start..<place])
        start = place
      }
      former = isSpaceless
    }
    if start < endIndex { pieces.append(self[start...]) }
    return pieces
  }

  /// True if the word, which has characters of one kind alone, is of such a script.
  var isSpaceless: Bool { unicodeScalars.first?.isSpaceless ?? false }
}

extension String.UTF8View {
  /// Returns the offsets at which other bytes, at least one, begin in these.
  func occurrences(of other: String.UTF8View) -> [Int] {
    let (bytes, wanted) = (Array(self), Array(other))
    guard let first = wanted.first, wanted.count <= bytes.count else { return [] }
    return (0...(bytes.count - wanted.count)).filter {
      bytes[$0] == first && bytes[$0..<($0 + wanted.count)].elementsEqual(wanted)
    }
  }
}

/// The keys by which an index finds a word of such a script.
enum WordPieces {
  /// The most characters of a key.
  static let length = 3

  /// True if a word in UTF-8, which has characters of one kind alone, is of such a script.
  static func isSpaceless(_ word: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = word.first, first >= 0xE0 else { return false }
    return String(decoding: word.prefix(4), as: UTF8.self).isSpaceless
  }

  /// Calls `body` with the keys of a word of such a script, until it returns false. Returns the last result.
  ///
  /// - Parameter isSearch: true for the keys that a search has, of which a record has all. One of fewer characters is
  ///   the start of a key.
  static func forEachKey(
    of word: UnsafeBufferPointer<UInt8>, isSearch: Bool, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
  ) -> Bool {
    // Bytes inside a character begin with the bits 10.
    let starts = word.indices.filter { word[$0] & 0xC0 != 0x80 } + [word.count]
    let count = starts.count - 1
    for first in 0..<(isSearch ? max(1, count - length + 1) : count) {
      let key = word[starts[first]..<starts[min(first + length, count)]]
      guard body(UnsafeBufferPointer(rebasing: key)) else { return false }
    }
    return true
  }

  /// Returns the keys of a word of such a script.
  static func keys(of word: String, isSearch: Bool) -> [String] {
    var (word, keys) = (word, [String]())
    _ = word.withUTF8 { bytes in
      forEachKey(of: bytes, isSearch: isSearch) { key in
        keys.append(String(decoding: key, as: UTF8.self))
        return true
      }
    }
    return keys
  }
}
