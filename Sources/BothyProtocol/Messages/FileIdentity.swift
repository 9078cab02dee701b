import BothyStore
import Foundation

/// The identity of the file that a request comes from: the server and space that it was synced with, and its user. A
/// remote reads it from the calling task, and the server refuses a request of another file.
package struct FileIdentity: Sendable, Hashable {
  @TaskLocal package static var current: FileIdentity?

  /// The name of the header with the identity.
  package static let header = "Bothy-File"

  /// The server's identity; `nil` for a file that no server has answered yet. `space` is the name of the space.
  package var server: String?
  package var space: String?
  package var user: String?

  package init(server: String?, space: String?, user: String?) {
    (self.server, self.space, self.user) = (server, space, user)
  }

  private static let allowed = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  /// The text `server/space/principal`, each percent-encoded, or empty if unknown. `nil` if all are unknown.
  package var field: String? {
    let parts = [server, space, user]
    guard parts.contains(where: { $0 != nil }) else { return nil }
    return parts.map { $0?.addingPercentEncoding(withAllowedCharacters: Self.allowed) ?? "" }
      .joined(separator: "/")
  }

  /// Reads the text of `field`. Returns `nil` for other text.
  package init?(field: String) {
    let parts = field.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let names = parts.map { $0.isEmpty ? nil : String($0).removingPercentEncoding }
    self.init(server: names[0], space: names[1], user: names[2])
  }
}
