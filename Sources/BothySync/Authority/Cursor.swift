import BothyStore

/// A place in a space's history, handed to devices as an opaque token: epoch, position and a mark of what the
/// principal may see in the scope.
struct Cursor: Equatable {
  var epoch: String
  var position: Int64
  var scopeMark: String
  /// Of a snapshot that goes on: the head when it began. What was deleted before is in none of its pages, so it may go
  /// on for as long as deletions since then are remembered.
  var began: Int64?

  var token: String { "\(epoch).\(position).\(scopeMark)" + (began.map { ".\($0)" } ?? "") }

  init(epoch: String, position: Int64, scopeMark: String, began: Int64? = nil) {
    self.epoch = epoch
    self.position = position
    self.scopeMark = scopeMark
    self.began = began
  }

  /// Nil for text that no server of this kind gave out.
  init?(token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let position = Int64(parts[1]), position >= 0 else { return nil }
    self.init(epoch: String(parts[0]), position: position, scopeMark: String(parts[2]))
    guard parts.count == 4 else { return }
    guard let began = Int64(parts[3]) else { return nil }
    self.began = began
  }

  /// A mark that differs for another principal, scope or set of permissions (FNV-1a, 64 bits): a cursor given
  /// out under other rights is not continued.
  static func mark(_ scope: PullScope, _ principal: Principal, _ rules: AuthorityRules) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    let permissions = (rules.schema?.types ?? []).map { "\($0.name)=\($0.permissions?.read.rawValue ?? "")" }
    let groups = rules.usesSharing ? Array(principal.names.dropFirst()) : []
    let text = [scope.container, String(scope.includesChildren), principal.name ?? ""] + groups + permissions
    for byte in text.joined(separator: "\u{0}").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}
