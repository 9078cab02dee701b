import BothyStore

/// A place in a space's history, handed to devices as an opaque token: epoch, position and a mark of what the
/// principal may see in the scope.
struct Cursor: Equatable {
  var epoch: String
  var position: Int64
  var scopeMark: String

  var token: String { "\(epoch).\(position).\(scopeMark)" }

  init(epoch: String, position: Int64, scopeMark: String) {
    self.epoch = epoch
    self.position = position
    self.scopeMark = scopeMark
  }

  /// Nil for text that no server of this kind gave out.
  init?(token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let position = Int64(parts[1]), position >= 0 else { return nil }
    self.init(epoch: String(parts[0]), position: position, scopeMark: String(parts[2]))
  }

  /// A mark that differs for another principal, scope or set of permissions (FNV-1a, 64 bits): a cursor given
  /// out under other rights is not continued.
  static func mark(_ scope: PullScope, _ principal: Principal, _ rules: AuthorityRules) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    let permissions = (rules.schema?.types ?? []).map { "\($0.name)=\($0.permissions?.read.rawValue ?? "")" }
    let text = [scope.container, String(scope.includesChildren), principal.name ?? ""] + permissions
    for byte in text.joined(separator: "\u{0}").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}
