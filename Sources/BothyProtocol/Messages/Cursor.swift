import BothyStore

/// A place in a space's history, given to devices as an opaque token. It has the epoch, the position and a mark of what
/// the user may see in the scope.
package struct Cursor: Equatable {
  package var epoch: String
  package var position: Int64
  package var scopeMark: String
  /// The head of the history when an unfinished snapshot began. Records that were deleted before are in none of its
  /// pages. So it may continue while the server remembers the deletions since then.
  package var began: Int64?

  package var token: String { "\(epoch).\(position).\(scopeMark)" + (began.map { ".\($0)" } ?? "") }

  package init(epoch: String, position: Int64, scopeMark: String, began: Int64? = nil) {
    self.epoch = epoch
    self.position = position
    self.scopeMark = scopeMark
    self.began = began
  }

  /// The most bytes of a token. It is enough for two thousand types with readers of their own.
  package static let longest = 64 << 10

  /// Returns `nil` for text that no server of this kind issued.
  package init?(token: String) {
    guard token.utf8.count <= Self.longest else { return nil }
    let parts = token.split(separator: ".", maxSplits: 4, omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let position = Int64(parts[1]), position >= 0 else { return nil }
    self.init(epoch: String(parts[0]), position: position, scopeMark: String(parts[2]))
    guard parts.count == 4 else { return }
    guard let began = Int64(parts[3]) else { return nil }
    self.began = began
  }
}
