import BothyStore

/// A page of changes, newest first.
package struct ChangeHistory: Sendable, Hashable {
  /// The changes that the user may see.
  package var entries: [HistoryEntry]
  /// The position that the next page ends before; `nil` if this is the last page.
  package var next: Int64?

  /// Makes a page. Without `next` it is the last one.
  package init(entries: [HistoryEntry] = [], next: Int64? = nil) {
    self.entries = entries
    self.next = next
  }
}

extension ChangeHistory {
  /// Writes the members `changes` and `next`? into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.array("changes", entries) { $1.write(to: &$0) }
    if let next { writer.member("next", next) }
  }

  /// Parses an object with those members. Throws `JSONError`.
  package init(decoding bytes: some ContiguousBytesSource) throws {
    var history = ChangeHistory()
    var isWhole = false
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        if name == "changes" { isWhole = true }
        switch name {
        case "changes": try reader.array { history.entries.append(try HistoryEntry(from: &$0)) }
        case "next": history.next = try reader.nextIsNull() ? nil : reader.int()
        default: try reader.skip()
        }
      }
    }
    guard isWhole else { throw JSONError(reason: "a history needs 'changes'", offset: 0) }
    self = history
  }
}
