import BothyStore

/// A place in a space's history, handed to devices as an opaque token: epoch, position and a mark of what the
/// principal may see in the scope.
package struct Cursor: Equatable {
  package var epoch: String
  package var position: Int64
  package var scopeMark: String
  /// Of a snapshot that goes on: the head when it began. What was deleted before is in none of its pages, so it may go
  /// on for as long as deletions since then are remembered.
  package var began: Int64?

  package var token: String { "\(epoch).\(position).\(scopeMark)" + (began.map { ".\($0)" } ?? "") }

  package init(epoch: String, position: Int64, scopeMark: String, began: Int64? = nil) {
    self.epoch = epoch
    self.position = position
    self.scopeMark = scopeMark
    self.began = began
  }

  /// Nil for text that no server of this kind gave out.
  package init?(token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let position = Int64(parts[1]), position >= 0 else { return nil }
    self.init(epoch: String(parts[0]), position: position, scopeMark: String(parts[2]))
    guard parts.count == 4 else { return }
    guard let began = Int64(parts[3]) else { return nil }
    self.began = began
  }
}
