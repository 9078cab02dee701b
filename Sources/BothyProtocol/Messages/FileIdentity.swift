import BothyStore
import Foundation

/// Whose file a question comes from: the server and space that it was synced with, and the principal whose it is. A remote
/// looks it up in the task that calls it, and the server refuses the question of another file.
package struct FileIdentity: Sendable, Hashable {
  @TaskLocal package static var current: FileIdentity?

  /// The name of the header that carries it.
  package static let header = "Bothy-File"

  /// The server's identity, and the name of the space; nil for a file that no server has answered yet.
  package var server: String?
  package var space: String?
  package var principal: String?

  package init(server: String?, space: String?, principal: String?) {
    (self.server, self.space, self.principal) = (server, space, principal)
  }

  private static let allowed = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  /// `server/space/principal`, each percent-encoded, empty where it is not known; nil where nothing is.
  package var field: String? {
    let parts = [server, space, principal]
    guard parts.contains(where: { $0 != nil }) else { return nil }
    return parts.map { $0?.addingPercentEncoding(withAllowedCharacters: Self.allowed) ?? "" }
      .joined(separator: "/")
  }

  /// Reads what `field` gives; nil for anything else.
  package init?(field: String) {
    let parts = field.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let names = parts.map { $0.isEmpty ? nil : String($0).removingPercentEncoding }
    self.init(server: names[0], space: names[1], principal: names[2])
  }
}
