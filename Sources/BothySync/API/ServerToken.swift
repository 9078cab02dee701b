/// A moment in the server's order of changes. Opaque; can be kept and used after a relaunch.
package struct ServerToken: Sendable, Hashable, Codable {
  package let text: String

  package init(text: String) { self.text = text }
}
