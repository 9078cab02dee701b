import BothyStore

/// A history of changes: its server, its space and its mark.
///
/// A device stores the history that its file was synced with, sends it with each exchange, and compares it with each
/// answer.
package struct ServerHistory: Sendable, Hashable, Codable {
  /// The identity of the server's database, created with it and equal in every copy of it.
  package var server: String
  /// The name of the space.
  package var space: String
  /// The mark of the history. A restore changes it, and a space without writes has an empty one.
  package var epoch: String
  /// The highest known position of the history. On a server it is that of the last change.
  package var position: Int64

  /// Makes a history: the own one of a server, or the known one of a device.
  package init(server: String, space: String, epoch: String, position: Int64 = 0) {
    self.server = server
    self.space = space
    self.epoch = epoch
    self.position = position
  }

  /// Returns true if `later` continues this history: it has an equal mark, and a position that isn't lower.
  package func isContinued(by later: ServerHistory) -> Bool {
    if epoch.isEmpty && position == 0 { return true }
    return epoch == later.epoch && position <= later.position
  }

  /// Returns true if both are of the same space of the same server, in whatever epoch.
  package func isOfServer(of other: ServerHistory) -> Bool {
    server == other.server && space == other.space
  }
}

extension ServerHistory {
  /// Writes `{"server","space","epoch","position"}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("server", server)
    writer.member("space", space)
    writer.member("epoch", epoch)
    writer.member("position", position)
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var history = ServerHistory(server: "", space: "", epoch: "")
    try reader.object { name, reader in
      switch name {
      case "server": history.server = try reader.string()
      case "space": history.space = try reader.string()
      case "epoch": history.epoch = try reader.string()
      case "position": history.position = try reader.int()
      default: try reader.skip()
      }
    }
    self = history
  }
}

extension ServerHistory {
  /// Returns the message that `found` is another server or another space than this.
  package func refusal(_ found: ServerHistory) -> String {
    let other =
      server == found.server
      ? "'\(found.space)' is another space." : "the server that answered is another one (\(found.server))."
    return "The file was synced with the space '\(space)' of the server \(server); \(other) "
      + "Nothing was sent or removed."
  }
}
