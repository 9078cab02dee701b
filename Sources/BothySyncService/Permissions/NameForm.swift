import BothyStore
import Foundation

/// The one form of names that rights depend on: of users, groups, lists and spaces.
///
/// A storage compares names byte by byte, and Swift compares texts by what they mean to Unicode, which gives `é` two
/// spellings. So new names are accepted in Unicode's normal form C (NFC) alone, in which no two look alike. Rights are
/// decided byte by byte, so that an older name in another form gives none to its double.
extension String {
  /// True if the text is in Unicode's normal form C. Costs a look at each byte, and more for a text beyond ASCII.
  package var isNormalName: Bool {
    utf8.allSatisfy { $0 < 0x80 } || hasSameBytes(as: precomposedStringWithCanonicalMapping)
  }
}

extension String? {
  /// Compares byte by byte.
  func isSameName(as other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.hasSameBytes(as: other)
  }
}

extension Set<String> {
  /// True if the set has this text, byte by byte.
  package func hasName(_ name: String) -> Bool {
    firstIndex(of: name).map { self[$0].hasSameBytes(as: name) } ?? false
  }
}
